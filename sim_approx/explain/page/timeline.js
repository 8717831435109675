// Bands of time: the critical path, the memory, all operators, and a row for each part, of which a click opens those
// that it stands for. A cell has the shares of the band, from below: busy, blocked, starved; the rest is finished.
const ROW = 18, AXIS = 22, LEFT = 260, WIDE = 900;
const canvas = document.getElementById("timeline"), tip = document.getElementById("tip");
const bands = data.path.length, cell = Math.max(1, WIDE / Math.max(1, bands));
const SHOWN = ["busy", "blocked", "starved"];
const hue = (number) => `hsl(${(number * 67) % 360} 55% 60%)`;
const open = new Set();

function shares(text, band) {
  return SHOWN.map((_, place) => digit(text[3 * band + place]));
}

function busy(text) {
  let sum = 0;
  for (let band = 0; band < bands; band++) sum += digit(text[3 * band]);
  return sum;
}

function listed() {
  const rows = [{ name: "critical path", path: true }];
  if (data.memory) rows.push({ name: `memory (to ${data.bandwidth} bytes a cycle)`, beats: data.memory });
  rows.push({ name: `all operators (${data.operators.reduce((sum, row) => sum + row[1], 0)})`, text: data.all });
  for (const [name, text, inner] of data.bands) {
    const mark = inner.length ? (open.has(name) ? "\u25be " : "\u25b8 ") : "   ";
    rows.push({ name, text, inner, label: `${mark}${name}${inner.length ? ` \u00d7 ${inner.length}` : ""}` });
    if (open.has(name)) for (const [each, states] of inner) rows.push({ name: each, text: states, label: `      ${each}` });
  }
  return rows;
}

let rows = [];

function draw() {
  rows = listed();
  const ratio = window.devicePixelRatio || 1, height = ROW * rows.length + AXIS;
  canvas.width = (LEFT + WIDE + 30) * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${LEFT + WIDE + 30}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "11px Helvetica, Arial, sans-serif";
  pen.textBaseline = "middle";
  ticks(pen, height);
  rows.forEach((row, number) => {
    const top = AXIS + ROW * number + 1, high = ROW - 3;
    pen.fillStyle = "#222";
    pen.fillText(row.label ?? row.name, 2, top + high / 2, LEFT - 8);
    for (let band = 0; band < bands; band++) {
      const left = LEFT + cell * band;
      if (row.path) {
        pen.fillStyle = hue(data.path[band]);
        pen.fillRect(left, top, cell, high);
      } else if (row.beats) {
        pen.fillStyle = "#5b84b1";
        const share = digit(row.beats[band]);
        pen.fillRect(left, top + high * (1 - share), cell, high * share);
      } else {
        let below = top + high;
        pen.fillStyle = data.colours.finished;
        pen.fillRect(left, top, cell, high);
        shares(row.text, band).forEach((share, place) => {
          const part = Math.min(high * share, below - top);
          pen.fillStyle = data.colours[SHOWN[place]];
          pen.fillRect(left, below - part, cell, part);
          below -= part;
        });
      }
    }
  });
}

// Some eight round numbers of cycles.
function ticks(pen, height) {
  let step = 10 ** Math.floor(Math.log10(Math.max(data.cycles, 10) / 8));
  step *= [1, 2, 5, 10].find((each) => data.cycles / (step * each) <= 10);
  pen.textAlign = "center";
  for (let cycle = 0; cycle <= data.cycles; cycle += Math.max(1, step)) {
    const left = LEFT + (cell * cycle) / data.width;
    pen.fillStyle = "#666";
    pen.fillText(cycle.toLocaleString("en-US"), left, 8);
    pen.fillStyle = "#ddd";
    pen.fillRect(left, 16, 1, height);
  }
  pen.textAlign = "left";
  pen.fillStyle = "#666";
  pen.fillText("cycle", 2, 8);
}

function at(event) {
  const row = rows[Math.floor((event.offsetY - AXIS) / ROW)], band = Math.floor((event.offsetX - LEFT) / cell);
  return [event.offsetY < AXIS ? undefined : row, band];
}

canvas.addEventListener("mousemove", (event) => {
  const [row, band] = at(event);
  tip.style.display = row && band >= 0 && band < bands ? "block" : "none";
  if (tip.style.display === "none") return;
  const first = band * data.width, last = Math.min(first + data.width, data.cycles) - 1;
  const what = row.path ? data.causes[data.path[band]]
    : row.beats ? `${percent(digit(row.beats[band]))} of the bandwidth`
      : shares(row.text, band).map((share, place) => `${SHOWN[place]} ${percent(share)}`).join(", ");
  tip.textContent = `${row.name}, cycles ${first} to ${last}: ${what}`;
  tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - 420)}px`;
  tip.style.top = `${event.clientY + 12}px`;
});
canvas.addEventListener("mouseleave", () => { tip.style.display = "none"; });
canvas.addEventListener("click", (event) => {
  const [row] = at(event);
  if (!row?.inner?.length) return;
  if (!open.delete(row.name)) open.add(row.name);
  draw();
});

data.bands.sort((one, other) => busy(other[1]) - busy(one[1]));
const counted = data.causes.map((_, number) => data.path.filter((each) => each === number).length);
document.getElementById("causes").append("critical path: ", ...data.causes
  .map((text, number) => [counted[number], text, number]).sort((one, other) => other[0] - one[0]).slice(0, 8)
  .flatMap(([, text, number]) => [element("span", { style: `background:${hue(number)}` }), text]));
