"use strict";
// The run is three lists of numbers per channel (the cycles in which tokens entered, their control, and the cycles in
// which they left) and two per unit (cycles, and the states from then on). What is there in a cycle is found by binary
// search. What does not move is drawn once for each view, into `still`; a frame is that, the states, and the tokens.
const data = JSON.parse(document.getElementById("data").textContent);
const { units, channels, first, end } = data;
const at = (id) => document.getElementById(id);
const stage = at("stage"), bar = at("bar"), pen = stage.getContext("2d", { alpha: false });
const still = document.createElement("canvas");
const SPEEDS = [1, 2, 5].flatMap((each) => [0, 1, 2, 3, 4, 5].map((power) => each * 10 ** power)).sort((a, b) => a - b);
const SMOOTH = 30;  // cycles a second up to which tokens glide
const DOT = 4, BANDS = 300, LIT = "#d55e00", CHOSEN = "#0b5cad", TOKEN = "#0072b2";
const BUSY = data.states.indexOf("busy"), SHOWN = ["busy", "blocked", "starved"].map((each) => data.states.indexOf(each));
const view = { scale: 1, x: 0, y: 0 };
const byName = new Map(units.map((each) => [each.name, each]));
let time = first, playing = false, speed = 0, chosen = null, stale = true, previous = null, bands = [], said = 0;

// -- what is there in a cycle -----------------------------------------------------------------------------------------

// How many of the sorted numbers are less than `limit`.
function below(numbers, limit) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The tokens that can be seen in a channel: from the first, to before the second.
const contents = (channel, cycle) => [below(channel.leaves, cycle), below(channel.enters, cycle)];
const stateOf = (unit, cycle) => unit.states[Math.max(below(unit.since, cycle + 1) - 1, 0)];
const stuck = () => data.waits.length > 0 && time >= end;

function wordOf(control) {
  const stop = (control >> 2) & 15, rank = (control >> 6) & 15;
  if (control & 1) return "D (done)";
  return (control & 2 ? "value" : `E${rank} (empty)`) + (stop > rank ? ` S${stop}` : "");
}

async function unpack() {
  const bytes = Uint8Array.from(atob(data.packed), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const numbers = new Int32Array(await new Response(stream).arrayBuffer()), lengths = data.lengths.values();
  let place = 0;
  const list = () => {
    const found = numbers.subarray(place, place += lengths.next().value);
    for (let each = 1; each < found.length; each++) found[each] += found[each - 1];
    return found;
  };
  for (const each of channels) [each.enters, each.control, each.leaves] = [list(), list(), list()];
  for (const each of units) [each.since, each.states] = [list(), list()];
}

// -- where it is ------------------------------------------------------------------------------------------------------

// Ports stand side by side, in the order of where their channels lead, so that these cross little.
function spread(end, box, edge) {
  const aim = (channel) => (channel.way.length ? channel.way.at(edge ? 0 : -1)[0] : channel[edge ? "sink" : "source"].x);
  const ports = channels.filter((each) => each[end] === box).sort((one, other) => aim(one) - aim(other));
  ports.forEach((each, place) => {
    each[`${end}Port`] = [box.x + (box.w * (place + 1)) / (ports.length + 1), box.y + edge * box.h];
  });
}

// A channel is a curve through its way, down from its producer and down into its consumer; it is kept as points.
function trace(channel) {
  const points = [channel.sourcePort, ...channel.way, channel.sinkPort], last = points.length - 1;
  const slope = points.map((_, place) => {
    const ahead = place === 0 || place === last ? 1 : Math.sign(points[place + 1][1] - points[place - 1][1]);
    return ahead || 1;
  });
  channel.curve = new Path2D();
  channel.curve.moveTo(...points[0]);
  channel.xs = [points[0][0]], channel.ys = [points[0][1]], channel.far = [0];
  for (let each = 0; each < last; each++) {
    const [x1, y1] = points[each], [x2, y2] = points[each + 1], reach = Math.max(Math.abs(y2 - y1) / 2, 14);
    const above = y1 + slope[each] * reach, under = y2 - slope[each + 1] * reach;
    channel.curve.bezierCurveTo(x1, above, x2, under, x2, y2);
    for (let step = 1; step <= 12; step++) {
      const t = step / 12, u = 1 - t, one = u * u * u + 3 * u * u * t, other = 1 - one;
      const x = one * x1 + other * x2, y = u * u * u * y1 + 3 * u * u * t * above + 3 * u * t * t * under + t * t * t * y2;
      channel.far.push(channel.far.at(-1) + Math.hypot(x - channel.xs.at(-1), y - channel.ys.at(-1)));
      channel.xs.push(x), channel.ys.push(y);
    }
  }
  const [left, right, top, bottom] = [channel.xs, channel.ys].flatMap((each) => [Math.min(...each), Math.max(...each)]);
  channel.box = { x: left, y: top, w: right - left, h: bottom - top };
}

function lay() {
  for (const each of channels) [each.source, each.sink] = [byName.get(each.from), byName.get(each.to)];
  for (const each of units) spread("source", each, 1), spread("sink", each, 0);
  channels.forEach(trace);
}

// The place so far along a channel, and its direction there.
function along(channel, far) {
  const place = Math.min(Math.max(below(channel.far, far), 1), channel.far.length - 1);
  const length = channel.far[place] - channel.far[place - 1] || 1, part = (far - channel.far[place - 1]) / length;
  const dx = channel.xs[place] - channel.xs[place - 1], dy = channel.ys[place] - channel.ys[place - 1];
  return [channel.xs[place - 1] + part * dx, channel.ys[place - 1] + part * dy, dx / length, dy / length];
}

function inView({ x, y, w, h }) {
  const [left, top] = [x * view.scale + view.x, y * view.scale + view.y];
  return left < stage.clientWidth && top < stage.clientHeight && left + w * view.scale > 0 && top + h * view.scale > 0;
}

function fit() {
  const things = [...units, ...channels.map((each) => each.box)];
  const width = Math.max(...things.map((each) => each.x + each.w)) + 20;
  const height = Math.max(...things.map((each) => each.y + each.h)) + 20;
  view.scale = Math.min(stage.clientWidth / width, stage.clientHeight / height, 1.5);
  view.x = (stage.clientWidth - width * view.scale) / 2;
  view.y = (stage.clientHeight - height * view.scale) / 2;
  stale = true;
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const scale = Math.min(Math.max(view.scale * factor, 0.01), 8), ratio = scale / view.scale;
  Object.assign(view, { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio });
  stale = true;
}

// -- drawing ----------------------------------------------------------------------------------------------------------

function placed(to) {
  const ratio = window.devicePixelRatio || 1;
  to.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
}

function paint() {
  const ratio = window.devicePixelRatio || 1, to = still.getContext("2d", { alpha: false });
  for (const each of [stage, still]) {
    each.width = Math.max(1, stage.clientWidth * ratio), each.height = Math.max(1, stage.clientHeight * ratio);
  }
  to.fillStyle = "#fff";
  to.fillRect(0, 0, still.width, still.height);
  placed(to);
  const shown = channels.filter((each) => inView(each.box));
  for (const each of shown) {
    to.strokeStyle = each === chosen ? CHOSEN : "#b8bec6";
    to.lineWidth = (each === chosen ? 2.5 : 1.2) / Math.min(view.scale, 1);
    to.stroke(each.curve);
    if (view.scale < 0.3) continue;
    const [x, y] = each.sinkPort;
    to.fillStyle = "#7d8590";
    to.fill(new Path2D(`M${x} ${y}l-3.5 -7h7z`));
  }
  for (const each of units.filter(inView)) {
    to.fillStyle = "#fff";
    to.fillRect(each.x, each.y, each.w, each.h);
    to.strokeStyle = each === chosen ? CHOSEN : "#666";
    to.lineWidth = (each === chosen ? 3 : 1) / Math.min(view.scale, 1);
    to.strokeRect(each.x, each.y, each.w, each.h);
    if (view.scale < 0.4) continue;
    to.fillStyle = "#000";
    to.textAlign = "center";
    [each.name, each.title].forEach((text, line) => {
      to.font = `${line ? "" : "bold "}11px Helvetica, Arial, sans-serif`;
      to.fillText(text, each.x + each.w / 2, each.y + 15 + 14 * line, each.w - 4);
    });
  }
  if (view.scale >= 0.75) shown.forEach((each) => label(to, each));
  stale = false;
}

// The type of a stream stands at the middle of its channel, above one another where there are several ways.
function label(to, channel) {
  const [x, y] = along(channel, channel.far.at(-1) / 2);
  to.font = "8px Helvetica, Arial, sans-serif";
  to.textAlign = "center";
  to.strokeStyle = "#fff";
  to.lineWidth = 2.5;
  to.fillStyle = "#555";
  to.strokeText(channel.type, x, y);
  to.fillText(channel.type, x, y);
}

function frame(now) {
  const passed = previous === null ? 0 : (now - previous) / 1000;
  previous = now;
  if (playing) {
    time = Math.min(time + SPEEDS[speed] * passed, end);
    if (time >= end) play(false);
  }
  if (stale) paint();
  draw();
  tell(now);
  requestAnimationFrame(frame);
}

function draw() {
  const cycle = Math.floor(time), part = playing && SPEEDS[speed] > SMOOTH ? 0 : time - cycle;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(still, 0, 0);
  placed(pen);
  pen.globalCompositeOperation = "multiply";
  for (const each of units) {
    if (!inView(each)) continue;
    pen.fillStyle = data.colours[data.states[stateOf(each, cycle) & 3]];
    pen.fillRect(each.x, each.y, each.w, each.h);
  }
  pen.globalCompositeOperation = "source-over";
  if (stuck()) light();
  const size = Math.max(DOT, 1.6 / view.scale), marks = { dots: new Path2D(), bars: new Path2D(), rings: new Path2D(), done: new Path2D() };
  for (const each of channels) if (inView(each.box)) tokens(each, cycle, part, size, marks);
  pen.fillStyle = pen.strokeStyle = TOKEN;
  pen.fill(marks.dots);
  pen.lineWidth = 0.5 * size;
  pen.stroke(marks.bars);
  pen.fillStyle = "#fff";
  pen.fill(marks.rings);
  pen.stroke(marks.rings);
  pen.fillStyle = "#000";
  pen.fill(marks.done);
}

// The first token stands at the consumer, the others behind it; one that enters or leaves in this cycle is on its way.
function tokens(channel, cycle, part, size, marks) {
  const head = below(channel.leaves, cycle), tail = below(channel.enters, cycle + 1);
  if (head === tail) return;
  const length = channel.far.at(-1), gap = 2.6 * size, room = Math.max(1, Math.floor(length / gap));
  const lift = channel.leaves[head] === cycle ? part : 0;
  for (let each = head; each < Math.min(tail, head + room); each++) {
    let far = Math.min(length - size - gap * (each - head - lift), length);
    if (channel.enters[each] === cycle) far *= part;
    const [x, y, dx, dy] = along(channel, Math.max(far, 0)), control = channel.control[each];
    if (control & 1) {
      marks.done.moveTo(x, y - 1.4 * size);
      for (const [right, down] of [[1.4, 0], [0, 1.4], [-1.4, 0]]) marks.done.lineTo(x + right * size, y + down * size);
    } else if (control & 2) {
      marks.dots.moveTo(x + size, y);
      marks.dots.arc(x, y, size, 0, 7);
    } else {
      marks.rings.rect(x - 0.8 * size, y - 0.8 * size, 1.6 * size, 1.6 * size);
    }
    if (control & 60 && control & 2) {
      const [tx, ty] = [x - 1.3 * size * dx, y - 1.3 * size * dy];
      marks.bars.moveTo(tx - 1.3 * size * dy, ty + 1.3 * size * dx);
      marks.bars.lineTo(tx + 1.3 * size * dy, ty - 1.3 * size * dx);
    }
  }
  if (tail - head > room || (view.scale > 0.75 && tail - head > 3)) {
    pen.font = `${Math.max(9, 9 / view.scale)}px Helvetica, Arial, sans-serif`;
    pen.textAlign = "left";
    pen.fillStyle = "#000";
    pen.fillText(tail - head, channel.sinkPort[0] + 2 * size, channel.sinkPort[1] - 2 * size);
  }
}

// The cycle of waits of a deadlock.
function light() {
  pen.strokeStyle = LIT;
  pen.lineWidth = Math.max(4, 2.5 / view.scale);
  for (const [name, number] of data.waits) {
    const each = byName.get(name);
    pen.strokeRect(each.x, each.y, each.w, each.h);
    pen.stroke(channels[number].curve);
  }
}

// -- the bar of time, with the shares of all units in bands -----------------------------------------------------------

function count() {
  const width = Math.max((end - first) / BANDS, 1);
  bands = Array.from({ length: Math.ceil((end - first) / width) }, () => [0, 0, 0, 0]);
  for (const { since, states } of units) {
    since.forEach((from, place) => {
      const until = place + 1 < since.length ? since[place + 1] : end;
      for (let band = Math.floor((from - first) / width); first + band * width < until; band++) {
        if (!bands[band]) break;
        bands[band][states[place] & 3] += Math.min(until, first + (band + 1) * width) - Math.max(from, first + band * width);
      }
    });
  }
}

function drawBar() {
  const ratio = window.devicePixelRatio || 1, to = bar.getContext("2d");
  const wide = (bar.width = bar.clientWidth * ratio), high = (bar.height = bar.clientHeight * ratio);
  const cell = wide / bands.length;
  bands.forEach((band, place) => {
    const all = band.reduce((sum, each) => sum + each, 0) || 1;
    let under = high;
    to.fillStyle = data.colours.finished;
    to.fillRect(place * cell, 0, cell + 1, high);
    for (const state of SHOWN) {
      const part = (high * band[state]) / all;
      to.fillStyle = data.colours[data.states[state]];
      to.fillRect(place * cell, under - part, cell + 1, part);
      under -= part;
    }
  });
  to.fillStyle = "#000";
  to.fillRect(((time - first) / (end - first)) * wide - ratio, 0, 2 * ratio, high);
}

// -- what is said beside it -------------------------------------------------------------------------------------------

function element(name, text, more = {}) {
  return Object.assign(document.createElement(name), { textContent: text }, more);
}

function link(thing, text) {
  return element("p", text, { className: "link", onclick: () => choose(thing) });
}

function channelText(channel, cycle) {
  const [head, tail] = contents(channel, cycle);
  return `${channel.from} \u2192 ${channel.to}: ${tail - head} of ${channel.capacity}`;
}

function aboutUnit(unit, cycle) {
  const state = stateOf(unit, cycle), activity = data.states[state & 3], other = channels[(state >> 2) - 1];
  const spent = [0, 0, 0, 0];
  unit.since.forEach((from, place) => {
    const until = place + 1 < unit.since.length ? unit.since[place + 1] : end;
    spent[unit.states[place] & 3] += Math.max(0, Math.min(until, cycle + 1) - from);
  });
  const says = { starved: "waits for a token of", blocked: "waits for space in" }[activity];
  const table = element("table", "");
  data.states.forEach((name, place) => table.insertRow().append(element("td", name), element("td", spent[place].toLocaleString("en-US"))));
  return [
    element("h2", unit.name), element("p", unit.call), element("p", unit.where),
    element("p", `${activity}${says ? `: ${says} ${other ? other.name : "a queue inside"}` : ""}`),
    ...(says && other ? [link(other, channelText(other, cycle))] : []),
    element("h2", "cycles so far"), table, element("h2", "channels"),
    ...channels.filter((each) => [each.source, each.sink].includes(unit)).map((each) => link(each, channelText(each, cycle))),
  ];
}

function aboutChannel(channel, cycle) {
  const [head, tail] = contents(channel, cycle), table = element("table", "");
  table.insertRow().append(...["number", "token", "entered in"].map((each) => element("th", each)));
  for (let each = head; each < Math.min(tail, head + 100); each++) {
    const cells = [each + channel.number, wordOf(channel.control[each]), channel.enters[each]];
    table.insertRow().append(...cells.map((cell) => element("td", cell.toLocaleString("en-US"))));
  }
  return [
    element("h2", channel.name), element("p", channel.type),
    element("p", `depth ${channel.depth}, ${channel.capacity} slots with those in flight`),
    link(channel.source, `from ${channel.from}`), link(channel.sink, `to ${channel.to}`),
    element("h2", `${(tail - head).toLocaleString("en-US")} tokens, the first one in front`), table,
  ];
}

function aboutRun() {
  const keys = [["space", "play, pause"], ["\u2190 \u2192", "a cycle"], ["PgUp PgDn", "a hundredth of the run"], ["Home End", "first, last cycle"],
    ["\u2191 \u2193", "faster, slower"], ["+ \u2212 0", "zoom, fit"], ["Esc", "choose nothing"]];
  const table = element("table", "");
  for (const row of keys) table.insertRow().append(...row.map((each) => element("td", each)));
  const failed = data.failure ? [element("pre", data.failure, { className: "failed" })] : [];
  return [...failed, element("p", "A click on a unit shows its state, one on a channel what is in it."), table];
}

// The words change ten times a second, the bar with them.
function tell(now) {
  if (now - said < 100 && said !== 0) return;
  said = now;
  const cycle = Math.min(Math.floor(time), end);
  at("clock").textContent = `cycle ${cycle.toLocaleString("en-US")} of ${end.toLocaleString("en-US")}`;
  at("speed").textContent = `${SPEEDS[speed].toLocaleString("en-US")} cycles/s`;
  bar.setAttribute("aria-valuenow", cycle);
  drawBar();
  const about = chosen === null ? "" : `${channels.indexOf(chosen)} ${chosen.name} ${cycle}`;
  if (at("side").dataset.about === about) return;
  at("side").dataset.about = about;
  at("side").replaceChildren(...(chosen === null ? aboutRun() : chosen.enters ? aboutChannel(chosen, cycle) : aboutUnit(chosen, cycle)));
}

// -- what a person does -----------------------------------------------------------------------------------------------

function play(on) {
  if (on && time >= end) time = first;
  playing = on;
  if (!on) time = Math.floor(time);
  at("play").textContent = on ? "\u275a\u275a" : "\u25b6\ufe0e";
  said = 0;
}

function go(cycle) {
  play(false);
  time = Math.min(Math.max(Math.round(cycle), first), end);
}

function choose(thing) {
  [chosen, stale, said] = [thing, true, 0];
}

function faster(by) {
  speed = Math.min(Math.max(speed + by, 0), SPEEDS.length - 1);
  said = 0;
}

function found(event) {
  const x = (event.offsetX - view.x) / view.scale, y = (event.offsetY - view.y) / view.scale;
  const unit = units.find((each) => x >= each.x && x <= each.x + each.w && y >= each.y && y <= each.y + each.h);
  let [nearest, least] = [null, 10 / view.scale];
  for (const each of unit ? [] : channels) {
    for (let far = 0; far <= each.far.at(-1); far += 5 / view.scale) {
      const [px, py] = along(each, far), away = Math.hypot(px - x, py - y);
      if (away < least) [nearest, least] = [each, away];
    }
  }
  return unit ?? nearest;
}

const page = () => Math.max(1, Math.round((end - first) / 100));
const KEYS = {
  " ": () => play(!playing), ArrowLeft: () => go(time - 1), ArrowRight: () => go(Math.floor(time) + 1),
  Home: () => go(first), End: () => go(end), PageUp: () => go(time - page()), PageDown: () => go(time + page()),
  ArrowUp: () => faster(1), ArrowDown: () => faster(-1), "+": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
  Escape: () => choose(null),
};

function listen() {
  document.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  const buttons = { first: "Home", back: "ArrowLeft", play: " ", next: "ArrowRight", last: "End", slower: "ArrowDown", faster: "ArrowUp", fit: "0" };
  for (const [id, key] of Object.entries(buttons)) at(id).addEventListener("click", () => { KEYS[key](); at(id).blur(); });
  let dragged = null;
  stage.addEventListener("pointerdown", (event) => { dragged = { x: event.clientX, y: event.clientY, far: 0 }; });
  stage.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const [dx, dy] = [event.clientX - dragged.x, event.clientY - dragged.y];
    dragged = { x: event.clientX, y: event.clientY, far: dragged.far + Math.abs(dx) + Math.abs(dy) };
    [view.x, view.y, stale] = [view.x + dx, view.y + dy, true];
  });
  stage.addEventListener("pointerup", (event) => {
    if (dragged?.far < 4) choose(found(event));
    dragged = null;
  });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  const seek = (event) => { if (event.buttons) go(first + ((end - first) * event.offsetX) / bar.clientWidth); };
  bar.addEventListener("pointerdown", seek);
  bar.addEventListener("pointermove", seek);
  new ResizeObserver(() => (view.fitted ? (stale = true) : fit())).observe(stage);
}

// A fragment says how the page begins: #120 at this cycle, #120,play playing from there.
async function begin() {
  await unpack();
  lay();
  count();
  for (const each of SHOWN.concat(data.states.indexOf("finished"))) {
    at("states").append(element("span", "", { style: `background:${data.colours[data.states[each]]}` }), data.states[each]);
  }
  Object.entries({ valuemin: first, valuemax: end }).forEach(([name, value]) => bar.setAttribute(`aria-${name}`, value));
  faster(SPEEDS.findLastIndex((each) => each <= Math.max(5, (end - first) / 40)));
  listen();
  fit();
  const [cycle, how] = location.hash.slice(1).split(",");
  if (cycle) go(Number(cycle) || first);
  if (how === "play") play(true);
  requestAnimationFrame(frame);
}

const ready = begin();
