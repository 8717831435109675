"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const digit = (text) => parseInt(text, 36) / 35;
const percent = (share) => `${(100 * share).toFixed(1)}%`;

function element(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function bar(shares) {
  return element("div", { className: "bar" }, ...Object.entries(shares).filter(([, share]) => share > 0).map(
    ([name, share]) => element("span", {
      title: `${name} ${percent(share)}`, style: `width:${100 * share}%;background:${data.colours[name] ?? "#e66a3c"}`,
    })));
}

function levels(text) {
  return element("span", { className: "levels" }, ...[...text].map(
    (each, place) => element("i", { title: `bar ${place + 1}: ${percent(digit(each))}`, style: `height:${100 * digit(each)}%` })));
}

function line(cells, kind) {
  return element("tr", { className: kind }, ...cells.map((cell) =>
    typeof cell === "number" ? element("td", { className: "number" }, cell.toLocaleString("en-US"))
      : element("td", /^[\d.]+%$/.test(cell) ? { className: "number" } : {}, cell)));
}

// A table of rows that end with those that they stand for; a click on a row opens it, one on a heading sorts.
function table(place, headings, rows, cells) {
  const body = element("tbody"), inner = new Map();
  for (const row of rows) {
    const made = line(cells(row), row.at(-1).length ? "fold" : "");
    body.append(made);
    made.addEventListener("click", () => {
      if (!row.at(-1).length) return;
      if (!inner.has(made)) inner.set(made, row.at(-1).map((each) => line(cells(each), "inner")));
      if (made.classList.toggle("open")) made.after(...inner.get(made));
      else inner.get(made).forEach((each) => each.remove());
    });
  }
  const head = element("tr", {}, ...headings.map((each, column) => {
    const heading = element("th", {}, each);
    let sign = -1;
    heading.addEventListener("click", () => {
      const key = (row) => {
        const text = row.cells[column].textContent, number = parseFloat(text.replaceAll(",", ""));
        return Number.isNaN(number) ? text : number;
      };
      const order = (one, other) => {
        const [a, b] = [key(one), key(other)];
        return typeof a === typeof b ? (a < b ? -sign : a > b ? sign : 0) : typeof a === "number" ? -1 : 1;
      };
      const outer = [...body.rows].filter((row) => row.className !== "inner").sort(order);
      body.append(...outer.flatMap((row) => row.classList.contains("open") ? [row, ...inner.get(row)] : [row]));
      sign = -sign;
    });
    return heading;
  }));
  document.getElementById(place).append(element("table", {}, element("thead", {}, head), body));
}

table("path-table", ["what", "why", "count", "cycles", "share", ""], data.shares, ([what, why, count, cycles]) =>
  [what, why, count, cycles, percent(cycles / data.cycles), bar({ [why]: cycles / data.cycles })]);

table("operator-table",
  ["operator", "count", "busy", "busiest", "starved", "blocked", "finished", "share of the cycles", "starved on", "blocked by"],
  [...data.operators].sort((one, other) => other[2] - one[2]),
  ([name, count, busy, starved, blocked, finished, most, on, by]) => {
    const shares = { busy, blocked, starved, finished };
    for (const each in shares) shares[each] /= data.cycles;
    return [name, count, busy, most, starved, blocked, finished, bar(shares), on, by];
  });

table("channel-table", ["channel", "count", "tokens", "peak", "capacity", "link used", "occupancy"],
  [...data.channels].sort((one, other) => other[5] - one[5]),
  ([name, count, tokens, peak, capacity, used, held]) =>
    [name, count, tokens, peak, capacity, percent(used), levels(held)]);
