"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const ROW = 14, LEFT = 220;

// The timeline: a row per operator, a cell per interval, in the colour of what the operator did for most of it.
const canvas = document.getElementById("timeline"), tip = document.getElementById("tip");
const cell = Math.max(2, Math.floor(900 / data.bins));
const rows = [["critical path", null], ...data.operators];
canvas.width = LEFT + cell * data.bins;
canvas.height = ROW * rows.length;
const pen = canvas.getContext("2d");
pen.font = "11px Helvetica, Arial, sans-serif";
pen.textBaseline = "middle";

function colour(row, bin) {
  if (row === 0) return `hsl(${(data.path[bin] * 67) % 360} 55% 60%)`;
  return data.colours[rows[row][1][bin]];
}

rows.forEach(([name, states], row) => {
  pen.fillStyle = "#222";
  pen.fillText(name, 2, ROW * row + ROW / 2, LEFT - 6);
  for (let bin = 0; bin < data.bins; bin++) {
    pen.fillStyle = colour(row, bin);
    pen.fillRect(LEFT + cell * bin, ROW * row + 1, cell, ROW - 2);
  }
});

canvas.addEventListener("mousemove", (event) => {
  const bin = Math.floor((event.offsetX - LEFT) / cell), row = Math.floor(event.offsetY / ROW);
  const inside = bin >= 0 && bin < data.bins && row >= 0 && row < rows.length;
  tip.style.display = inside ? "block" : "none";
  if (!inside) return;
  const [name, states] = rows[row], first = bin * data.width;
  const what = row === 0 ? data.causes[data.path[bin]] : data.activities[states[bin]];
  tip.textContent = `${name}, cycles ${first} to ${Math.min(first + data.width, data.cycles) - 1}: ${what}`;
  tip.style.left = `${event.clientX + 12}px`;
  tip.style.top = `${event.clientY + 12}px`;
});
canvas.addEventListener("mouseleave", () => { tip.style.display = "none"; });

// A click on a heading sorts the table by that column, a second one the other way round.
function key(row, column) {
  const text = row.cells[column].textContent, number = parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? text : number;
}

for (const table of document.querySelectorAll("table")) {
  table.querySelectorAll("th").forEach((heading, column) => {
    let sign = -1;
    heading.addEventListener("click", () => {
      const body = table.tBodies[0];
      const order = (one, other) => {
        const [a, b] = [key(one, column), key(other, column)];
        return typeof a === typeof b ? (a < b ? -sign : a > b ? sign : 0) : typeof a === "number" ? -1 : 1;
      };
      body.append(...[...body.rows].sort(order));
      sign = -sign;
    });
  });
}
