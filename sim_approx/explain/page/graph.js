// Pictures of the graph: one of them is shown, with the unit that limits in the middle.
const views = [...document.querySelectorAll(".view")], buttons = [...document.querySelectorAll("button[data-view]")];

function box(view, name) {
  const found = view.querySelector(`[data-name="${CSS.escape(name)}"]`);
  return found ?? [...view.querySelectorAll("g.node")].find((each) => each.querySelector("title")?.textContent === name);
}

function show(name) {
  for (const each of [...views, ...buttons]) each.classList.toggle("on", each.dataset.view === name);
  for (const each of views) each.style.display = each.dataset.view === name ? "block" : "none";
  const frame = document.getElementById("pictures");
  const found = data.centre[name] && box(views.find((each) => each.dataset.view === name), data.centre[name]);
  if (!found) return;
  found.classList.add("limits");
  const [inner, outer] = [found.getBoundingClientRect(), frame.getBoundingClientRect()];
  frame.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  frame.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
}

for (const each of buttons) each.addEventListener("click", () => show(each.dataset.view));

// A fragment says how the page begins: #open opens all that is folded, #view=NAME shows that picture.
const fragment = decodeURIComponent(location.hash.slice(1));
if (fragment === "open") {
  for (const [name, , inner] of data.bands) if (inner.length) open.add(name);
  document.querySelectorAll("tr.fold").forEach((row) => row.click());
}
draw();
show(fragment.startsWith("view=") ? fragment.slice(5) : buttons[0].dataset.view);
