"use strict";
// A run is three lists of numbers per channel (the cycles in which tokens entered, their control, and the cycles in
// which they left) and two per unit (cycles, and the states from then on): what is there in a cycle is found by binary
// search. What does not move is drawn once for each view, into `still`; a frame is that, the states, and the tokens.
const data = JSON.parse(document.getElementById("data").textContent);
const { units, channels, first, end } = data;
const at = (id) => document.getElementById(id), counted = (number) => number.toLocaleString("en-US");
const stage = at("stage"), bar = at("bar"), pen = stage.getContext("2d", { alpha: false });
const still = document.createElement("canvas"), layer = still.getContext("2d", { alpha: false });
const SPEEDS = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((each) => each * 10 ** power));
const SMOOTH = 30, DOT = 4;  // cycles a second up to which tokens glide; radius of a token
const GREY = "#b8bec6", CHOSEN = "#0b5cad", LIT = "#d55e00", TOKEN = "#0072b2", FONT = "Helvetica, Arial, sans-serif";
const view = { scale: 1, x: 0, y: 0, own: false };
let time = first, playing = false, speed = 0, chosen = null, stale = true, previous = 0, said = 0;
let ways = [], boxes = [];  // channels and units that are in view

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
// An activity, and four times the number behind that of the channel that is waited for.
const stateOf = (unit, cycle) => unit.states[below(unit.since, cycle + 1) - 1];

function wordOf(control) {
  const [stop, rank] = [(control >> 2) & 15, (control >> 6) & 15];
  return control & 1 ? "D" : (control & 2 ? "value" : `E${rank}`) + (stop > rank ? ` S${stop}` : "");
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

// Ports of a box stand side by side in the order of where their channels lead, so that these cross little.
function spread(box, end, other, top) {
  const aim = (channel) => (channel.way.at(top ? -1 : 0) ?? [channel[other].x])[0];
  const ports = channels.filter((each) => each[end] === box).sort((one, two) => aim(one) - aim(two));
  ports.forEach((each, place) => {
    each[top ? "to" : "from"] = [box.x + (box.w * (place + 1)) / (ports.length + 1), box.y + (top ? 0 : box.h)];
  });
}

// A channel is a curve along its way, down from its producer and down into its consumer, and kept as points besides.
function trace(channel) {
  const points = [channel.from, ...channel.way, channel.to], last = points.length - 1;
  const turn = Math.sign(points[last][1] - points[0][1]);
  const xs = [points[0][0]], ys = [points[0][1]], far = [0], curve = new Path2D();
  curve.moveTo(...points[0]);
  for (let each = 0; each < last; each++) {
    const [[x1, y1], [x2, y2]] = [points[each], points[each + 1]], reach = Math.max(Math.abs(y2 - y1) / 2, 14);
    const above = y1 + reach * (each ? turn : 1), under = y2 - reach * (each + 1 < last ? turn : 1);
    curve.bezierCurveTo(x1, above, x2, under, x2, y2);
    for (let t = 1 / 12; t < 1.01; t += 1 / 12) {
      const u = 1 - t, [a, b, c, d] = [u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t];
      const [x, y] = [(a + b) * x1 + (c + d) * x2, a * y1 + b * above + c * under + d * y2];
      far.push(far.at(-1) + Math.hypot(x - xs.at(-1), y - ys.at(-1)));
      xs.push(x), ys.push(y);
    }
  }
  const [left, right, top, bottom] = [xs, ys].flatMap((each) => [Math.min(...each), Math.max(...each)]);
  const shape = new Path2D(`M${points[last]}l-3.5 -7h7z`), box = { x: left, y: top, w: right - left, h: bottom - top };
  Object.assign(channel, { curve, shape, xs, ys, far, length: far.at(-1), ...box });
}

// The place so far along a channel.
function along({ xs, ys, far }, wanted) {
  const place = Math.min(Math.max(below(far, wanted), 1), far.length - 1), before = place - 1;
  const part = (wanted - far[before]) / (far[place] - far[before] || 1);
  return [xs[before] + part * (xs[place] - xs[before]), ys[before] + part * (ys[place] - ys[before])];
}

function inView({ x, y, w, h }) {
  const [left, top] = [x * view.scale + view.x, y * view.scale + view.y];
  return left < stage.clientWidth && top < stage.clientHeight && left + w * view.scale > 0 && top + h * view.scale > 0;
}

function fit() {
  const [width, height] = [["x", "w"], ["y", "h"]].map(([low, size]) =>
    Math.max(...[...units, ...channels].map((each) => each[low] + each[size])) + 20);
  const scale = Math.min(stage.clientWidth / width, stage.clientHeight / height, 1.5);
  look({ scale, x: (stage.clientWidth - width * scale) / 2, y: (stage.clientHeight - height * scale) / 2, own: false });
}

function look(to) {
  Object.assign(view, { own: true }, to);
  stale = true;
}

function zoom(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
  const scale = Math.min(Math.max(view.scale * factor, 0.01), 8), ratio = scale / view.scale;
  look({ scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio });
}

// -- drawing ----------------------------------------------------------------------------------------------------------

function paint() {
  const ratio = window.devicePixelRatio || 1;
  [ways, boxes] = [channels.filter(inView), units.filter(inView)];
  const [width, height] = [stage.clientWidth * ratio, stage.clientHeight * ratio], { scale, x, y } = view;
  for (const each of [pen, layer]) {
    Object.assign(each.canvas, { width, height });
    each.fillStyle = "#fff";
    each.fillRect(0, 0, width, height);
    each.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
  }
  layer.textAlign = "center";
  for (const each of [...ways, ...boxes]) {
    layer.fillStyle = each.curve ? GREY : "#fff";
    layer.fill(each.shape);
    layer.strokeStyle = each === chosen ? CHOSEN : each.curve ? GREY : "#666";
    layer.lineWidth = (each === chosen ? 4 : 1.2) / Math.min(view.scale, 1);
    layer.stroke(each.curve ?? each.shape);
    if (each.curve || view.scale < 0.35) continue;
    layer.fillStyle = "#000";
    [each.name, each.title].forEach((text, line) => {
      layer.font = `${line ? "" : "bold "}12px ${FONT}`;
      layer.fillText(text, each.x + each.w / 2, each.y + 15.5 + 14 * line, each.w - 4);
    });
  }
  if (view.scale > 0.5) label([...boxes]);
  stale = false;
}

// The types of streams stand on their channels where there is room.
function label(taken) {
  const size = 12 / Math.max(view.scale, 1);
  layer.font = `${size}px ${FONT}`;
  [layer.strokeStyle, layer.lineWidth, layer.fillStyle] = ["#fff", size / 3, "#444"];
  for (const each of ways) {
    const w = layer.measureText(each.type).width + size, h = 1.4 * size;
    const places = [0.5, 0.4, 0.6, 0.3, 0.7].map((part) => along(each, part * each.length));
    const place = places.map(([x, y]) => ({ x: x - w / 2, y: y - h / 2, w, h })).find(({ x, y }) =>
      !taken.some((box) => x < box.x + box.w && box.x < x + w && y < box.y + box.h && box.y < y + h));
    if (!place) continue;
    taken.push(place);
    for (const way of ["strokeText", "fillText"]) layer[way](each.type, place.x + w / 2, place.y + h / 2 + size / 3);
  }
}

function frame(now) {
  if (playing) time = Math.min(time + (SPEEDS[speed] * (now - previous)) / 1000, end);
  previous = now;
  if (playing && time >= end) play(false);
  if (stale) paint();
  draw();
  if (now - said > 100) tell(now);
  requestAnimationFrame(frame);
}

function draw() {
  const cycle = Math.floor(time), part = playing && SPEEDS[speed] > SMOOTH ? 0 : time - cycle;
  const size = Math.max(DOT, 1.6 / view.scale);
  pen.save();
  pen.resetTransform();
  pen.drawImage(still, 0, 0);
  pen.restore();
  pen.globalCompositeOperation = "multiply";
  for (const each of boxes) {
    pen.fillStyle = data.colours[data.states[stateOf(each, cycle) & 3]];
    pen.fillRect(each.x, each.y, each.w, each.h);
  }
  pen.globalCompositeOperation = "source-over";
  [pen.strokeStyle, pen.lineWidth] = [LIT, 4 / Math.min(view.scale, 1)];
  if (time >= end) for (const each of data.waits) pen.stroke(each.curve ?? each.shape);
  const [dots, rings, done] = [new Path2D(), new Path2D(), new Path2D()];
  for (const each of ways) tokens(each, cycle, part, size, { dots, rings, done });
  pen.lineWidth = 0.5 * size;
  for (const [marks, fill, line] of [[dots, TOKEN, TOKEN], [rings, "#fff", TOKEN], [done, "#000", "#000"]]) {
    [pen.fillStyle, pen.strokeStyle] = [fill, line];
    pen.fill(marks);
    if (fill !== line) pen.stroke(marks);
  }
}

// The first token stands at the consumer, the others behind it; one that enters or leaves in this cycle is on its way.
function tokens(channel, cycle, part, size, { dots, rings, done }) {
  const head = below(channel.leaves, cycle), tail = below(channel.enters, cycle + 1), gap = 2.6 * size;
  const room = Math.max(1, Math.floor(channel.length / gap)), lift = channel.leaves[head] === cycle ? part : 0;
  for (let each = head; each < Math.min(tail, head + room); each++) {
    const there = Math.min(channel.length - size - gap * (each - head - lift), channel.length);
    const [x, y] = along(channel, there * (channel.enters[each] === cycle ? part : 1)), control = channel.control[each];
    if (control & 1) {
      done.moveTo(x, y - 1.5 * size);
      for (const [right, down] of [[1.5, 0], [0, 1.5], [-1.5, 0]]) done.lineTo(x + right * size, y + down * size);
    } else if (control & 2) {
      dots.moveTo(x + size, y);
      dots.arc(x, y, size, 0, 7);
    } else rings.rect(x - 0.8 * size, y - 0.8 * size, 1.6 * size, 1.6 * size);
    if (control & 2 && control & 60) dots.rect(x - 1.5 * size, y - 1.8 * size, 3 * size, 0.6 * size);
  }
  if (tail - head <= 4 || view.scale < 0.3) return;
  [pen.font, pen.textAlign, pen.fillStyle] = [`${10 / Math.min(view.scale, 1)}px ${FONT}`, "left", "#000"];
  pen.fillText(counted(tail - head), channel.to[0] + 2 * size, channel.to[1] - 2 * size);
}

// Behind the bar of time stand the shares of the states of all units, in bands.
function paintBar() {
  const made = document.createElement("canvas"), to = made.getContext("2d");
  [made.width, made.height] = [data.bands[0].length, 60];
  for (let band = 0, under = 60; band < made.width; band++, under = 60) {
    for (const [name, colour] of Object.entries(data.colours)) {
      const part = 60 * data.bands[data.states.indexOf(name)][band];
      to.fillStyle = colour;
      to.fillRect(band, under -= part, 1, part);
    }
  }
  bar.style.backgroundImage = `url(${made.toDataURL()})`;
}

// -- what is said beside it -------------------------------------------------------------------------------------------

// Lines are a kind of element, its text, and what a click on it chooses.
function about(channel, cycle) {
  const [head, tail] = contents(channel, cycle), ends = `${channel.source.name} \u2192 ${channel.sink.name}`;
  return ["p", `${ends}: ${counted(tail - head)} of ${counted(channel.capacity)} tokens`, channel];
}

function aboutUnit(unit, cycle) {
  const state = stateOf(unit, cycle), activity = data.states[state & 3], awaited = channels[(state >> 2) - 1];
  const says = { starved: ": waits for a token", blocked: ": waits for space" }[activity] ?? "";
  const ends = channels.filter((each) => each.source === unit || each.sink === unit);
  return [
    ["h2", unit.name], ["p", unit.call], ["p", unit.where], ["h2", activity + says],
    ...(awaited ? [about(awaited, cycle)] : []), ["h2", "channels"], ...ends.map((each) => about(each, cycle)),
  ];
}

function aboutChannel(channel, cycle) {
  const { enters, control, number } = channel, [head, tail] = contents(channel, cycle);
  const lines = [...enters.subarray(head, Math.min(tail, head + 100))].map((since, each) =>
    `${counted(head + each + number)}: ${wordOf(control[head + each])}, since ${counted(since)}`);
  return [
    ["h2", channel.name], ["p", channel.type], ["p", `depth ${counted(channel.depth)}`],
    ["p", `from ${channel.source.name}`, channel.source], ["p", `to ${channel.sink.name}`, channel.sink],
    ["h2", about(channel, cycle)[1]], ["ol", lines.join("\n")],
  ];
}

function tell(now) {
  const cycle = Math.floor(time);
  said = now;
  bar.value = cycle;
  at("clock").textContent = `cycle ${counted(cycle)} of ${counted(end)}`;
  at("speed").textContent = `${counted(SPEEDS[speed])} cycles/s`;
  at("about").hidden = chosen !== null;
  const shown = chosen && `${chosen.name} ${channels.indexOf(chosen)} ${cycle}`;
  if (at("thing").dataset.shown === String(shown)) return;
  at("thing").dataset.shown = shown;
  const lines = !chosen ? [] : chosen.enters ? aboutChannel(chosen, cycle) : aboutUnit(chosen, cycle);
  at("thing").replaceChildren(...lines.map(([kind, text, thing]) => Object.assign(document.createElement(kind), {
    textContent: text, className: thing ? "link" : kind, onclick: () => thing && choose(thing),
  })));
}

// -- what a person does -----------------------------------------------------------------------------------------------

function play(on) {
  time = on && time >= end ? first : on ? time : Math.floor(time);
  [playing, said] = [on, 0];
  at("play").textContent = on ? "\u275a\u275a" : "\u25b6";
}

function go(cycle) {
  play(false);
  time = Math.min(Math.max(Math.round(cycle), first), end);
}

function choose(thing) {
  [chosen, stale, said] = [thing, true, 0];
}

function faster(by) {
  [speed, said] = [Math.min(Math.max(speed + by, 0), SPEEDS.length - 1), 0];
}

// The unit at a place of the stage, or a channel near it.
function found(left, top) {
  const place = [left, top].map((each) => each * (window.devicePixelRatio || 1));
  layer.lineWidth = 14 / view.scale;
  return units.find((each) => layer.isPointInPath(each.shape, ...place))
    ?? channels.find((each) => layer.isPointInStroke(each.curve, ...place)) ?? null;
}

const page = Math.max(1, Math.round((end - first) / 100));
const KEYS = {
  " ": () => play(!playing), ArrowLeft: () => go(time - 1), ArrowRight: () => go(Math.floor(time) + 1),
  Home: () => go(first), End: () => go(end), PageUp: () => go(time - page), PageDown: () => go(time + page),
  ArrowUp: () => faster(1), ArrowDown: () => faster(-1), "+": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
  Escape: () => choose(null),
};

function listen() {
  document.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  for (const each of document.querySelectorAll("button")) {
    each.addEventListener("click", () => { KEYS[each.dataset.key](); each.blur(); });
  }
  let moved = 0;
  stage.addEventListener("pointerdown", () => { moved = 0; });
  stage.addEventListener("pointermove", (event) => {
    if (!event.buttons) return;
    moved += Math.abs(event.movementX) + Math.abs(event.movementY);
    look({ x: view.x + event.movementX, y: view.y + event.movementY });
  });
  stage.addEventListener("pointerup", (event) => { if (moved < 4) choose(found(event.offsetX, event.offsetY)); });
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  bar.addEventListener("input", () => go(bar.valueAsNumber));
  new ResizeObserver(() => (view.own ? look({}) : fit())).observe(stage);
}

// A fragment says how the page begins: #120 in this cycle, #120,gather with this unit in the middle.
async function begin() {
  await unpack();
  for (const each of channels) [each.source, each.sink] = [units[each.source], units[each.sink]];
  for (const each of units) {
    each.shape = new Path2D(`M${each.x} ${each.y}h${each.w}v${each.h}h${-each.w}z`);
    spread(each, "source", "sink", false);
    spread(each, "sink", "source", true);
  }
  channels.forEach(trace);
  data.waits = data.waits.flatMap(([unit, channel]) => [units[unit], channels[channel]]);
  paintBar();
  faster(SPEEDS.findLastIndex((each) => each <= Math.max(5, (end - first) / 40)));
  listen();
  fit();
  if (view.scale < 0.2) zoom(0.5 / view.scale);  // where all is too small to be seen, the middle of it
  const [cycle, name] = decodeURIComponent(location.hash.slice(1)).split(",");
  const unit = units.find((each) => each.name === name);
  go(Number(cycle) || first);
  if (unit) {
    look({ scale: 1, x: stage.clientWidth / 2 - unit.x - unit.w / 2, y: stage.clientHeight / 2 - unit.y - unit.h / 2 });
    choose(unit);
  }
  requestAnimationFrame(frame);
}

const ready = begin();
