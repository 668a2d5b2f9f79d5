// The step-through player of the book and of `mlreplica watch`. It draws recorded states and computes none.
"use strict";
(() => {
  const W = 460, H = 330, EDGE = { left: 52, right: 14, top: 12, bottom: 42 };
  const SERIES = ["blue", "orange", "green", "purple", "gold", "sky"];
  const colour = (k) => `var(--book-${SERIES[k % SERIES.length]})`;
  const SVG = new Set(["svg", "g", "path", "line", "circle", "rect", "text", "polygon", "polyline",
    "clipPath", "defs", "marker", "title"]);

  /** An element: make("p", {class: "x", onclick: f}, child, "text"). */
  function make(name, attributes = {}, ...children) {
    const node = SVG.has(name)
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== undefined && value !== null) node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  const set = (node, attributes) => {
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  };
  const show = (node, yes) => node.setAttribute("visibility", yes ? "visible" : "hidden");
  const finite = (values) => values.filter((v) => typeof v === "number" && Number.isFinite(v));
  const scalar = (v) => (Array.isArray(v) ? scalar(v[0]) : v);
  const clamp = (v, low, high) => Math.min(Math.max(v, low), high);

  /** A value as text: four significant digits, a real minus sign. */
  function text(value) {
    if (value === null || value === undefined) return "–";
    if (Array.isArray(value)) return `(${value.map(text).join(", ")})`;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "string") return value;
    const size = Math.abs(value);
    let digits;
    if (Number.isInteger(value) && size < 1e6) digits = String(value);
    else if (size !== 0 && (size >= 1e5 || size < 1e-3)) digits = value.toExponential(3);
    else digits = value.toPrecision(4);
    return digits.replaceAll("-", "−");
  }

  /** Round numbers between low and high, about `count` of them. */
  function ticks(low, high, count = 5) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(k * step);
    return found;
  }

  const tickText = (v) => String(Number(v.toPrecision(6))).replace("-", "−");

  const raised = (v) => [...tickText(v)].map((c) => (c === "−" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");

  /** The range of some numbers, a little wider than they are. */
  function range(values, pad = 0.06) {
    const known = finite(values);
    let low = Math.min(...known), high = Math.max(...known);
    if (!known.length) [low, high] = [0, 1];
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    const extra = (high - low) * pad;
    return [low - extra, high + extra];
  }

  let serial = 0;

  /** Axes with grid and labels. x and y map data to pixels; `plot` is clipped to the frame. */
  function axes(pane, xRange, yRange, { log = false, xTicks = true, yTicks = true } = {}) {
    const [x0, x1] = xRange, [y0, y1] = yRange, id = `player-clip-${serial++}`;
    const wide = W - EDGE.left - EDGE.right, high = H - EDGE.top - EDGE.bottom;
    const x = (v) => EDGE.left + ((v - x0) / (x1 - x0)) * wide;
    const y = (v) => EDGE.top + high - (((log ? Math.log10(v) : v) - y0) / (y1 - y0)) * high;
    const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": pane.title || pane.type });
    const box = { x: EDGE.left, y: EDGE.top, width: wide, height: high };
    svg.append(make("defs", {}, make("clipPath", { id }, make("rect", box))));
    for (const v of xTicks ? ticks(x0, x1) : []) {
      svg.append(make("line", { class: "grid", x1: x(v), x2: x(v), y1: EDGE.top, y2: EDGE.top + high }));
      svg.append(make("text", { class: "tick", x: x(v), y: H - EDGE.bottom + 17, "text-anchor": "middle" }, tickText(v)));
    }
    const rows = log ? ticks(y0, y1).filter(Number.isInteger) : ticks(y0, y1);
    for (const v of yTicks ? rows : []) {
      const at = log ? y(10 ** v) : y(v), label = log ? `10${raised(v)}` : tickText(v);
      svg.append(make("line", { class: "grid", x1: EDGE.left, x2: W - EDGE.right, y1: at, y2: at }));
      svg.append(make("text", { class: "tick", x: EDGE.left - 7, y: at + 4, "text-anchor": "end" }, label));
    }
    const [xLabel, yLabel] = pane.labels ?? ["", ""], middle = EDGE.top + high / 2;
    svg.append(make("text", { class: "axis", x: EDGE.left + wide / 2, y: H - 6, "text-anchor": "middle" }, xLabel));
    svg.append(make("text", { class: "axis", x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, yLabel));
    const plot = make("g", { "clip-path": `url(#${id})` });
    svg.append(plot);
    return { svg, plot, x, y, box, xRange, yRange };
  }

  const joined = (points) => points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");

  /** A mark of class k: a disc, a square, a triangle, a diamond … so that colour is not alone. */
  function mark(k, x, y, r = 4.5) {
    const shape = {
      0: () => make("circle", { cx: x, cy: y, r }),
      1: () => make("rect", { x: x - r * 0.9, y: y - r * 0.9, width: r * 1.8, height: r * 1.8 }),
      2: () => make("polygon", { points: `${x},${y - r * 1.2} ${x + r * 1.1},${y + r * 0.8} ${x - r * 1.1},${y + r * 0.8}` }),
      3: () => make("polygon", { points: `${x},${y - r * 1.3} ${x + r * 1.3},${y} ${x},${y + r * 1.3} ${x - r * 1.3},${y}` }),
    }[k % 4]();
    set(shape, { class: "mark", style: `fill:${colour(k)}` });
    return shape;
  }

  /** The classes of y from the highest label down: +1 comes first. */
  const classes = (y) => [...new Set(y)].sort((a, b) => (a < b ? 1 : -1));

  function arrow(name) {
    const shaft = make("line", { class: `arrow ${name}` }), tip = make("polygon", { class: `tip ${name}` });
    return {
      nodes: [shaft, tip],
      point(x1, y1, x2, y2) {
        const length = Math.hypot(x2 - x1, y2 - y1), visible = length > 3;
        [shaft, tip].forEach((n) => show(n, visible));
        if (!visible) return;
        const [u, v] = [(x2 - x1) / length, (y2 - y1) / length], back = Math.min(9, length);
        set(shaft, { x1, y1, x2: x2 - u * back * 0.8, y2: y2 - v * back * 0.8 });
        const [bx, by] = [x2 - u * back, y2 - v * back];
        set(tip, { points: joined([[x2, y2], [bx - v * 4.5, by + u * 4.5], [bx + v * 4.5, by - u * 4.5]]) });
      },
    };
  }

  /** The part of a rectangle where g ≥ 0, for g linear: corners in, crossings between. */
  function halfPlane(corners, g) {
    const kept = [];
    corners.forEach((a, k) => {
      const b = corners[(k + 1) % corners.length], [ga, gb] = [g(a), g(b)];
      if (ga >= 0) kept.push(a);
      if (ga >= 0 !== gb >= 0) {
        const t = ga / (ga - gb);
        kept.push([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]);
      }
    });
    return kept;
  }

  /** Points around a centre: the unit circle, stretched and turned by the rows of a matrix. */
  const round = ([u, v], [[a, b], [c, d]]) => Array.from({ length: 60 }, (_, k) => {
    const [x, y] = [Math.cos((k * Math.PI) / 30), Math.sin((k * Math.PI) / 30)];
    return [u + a * x + b * y, v + c * x + d * y];
  });

  /** A matrix L with L Lᵀ = S, for S a matrix, two variances, or one. */
  function root(S) {
    const [[a, b], [, d]] = Array.isArray(S?.[0]) ? S : Array.isArray(S) ? [[S[0], 0], [0, S[1]]] : [[S, 0], [0, S]];
    const first = Math.sqrt(Math.max(a, 0)), below = first > 0 ? b / first : 0;
    return [[first, 0], [below, Math.sqrt(Math.max(d - below * below, 0))]];
  }

  // Each view builds its drawing once and returns draw(frame, step, run).
  const views = {
    plane(pane, runs) {
      let [xs, ys] = [range(pane.X.map((p) => p[0]), 0.1), range(pane.X.map((p) => p[1]), 0.1)];
      const unit = Math.max((xs[1] - xs[0]) / (W - EDGE.left - EDGE.right), (ys[1] - ys[0]) / (H - EDGE.top - EDGE.bottom));
      const grown = ([a, b], pixels) => [(a + b - unit * pixels) / 2, (a + b + unit * pixels) / 2];
      [xs, ys] = [grown(xs, W - EDGE.left - EDGE.right), grown(ys, H - EDGE.top - EDGE.bottom)]; // right angles stay right
      const ax = axes(pane, xs, ys), names = pane.y ? classes(pane.y) : [null];
      const corners = [[xs[0], ys[0]], [xs[1], ys[0]], [xs[1], ys[1]], [xs[0], ys[1]]];
      const inside = xs[0] <= 0 && 0 <= xs[1] && ys[0] <= 0 && 0 <= ys[1];
      const from = inside ? [0, 0] : [(xs[0] + xs[1]) / 2, (ys[0] + ys[1]) / 2];
      const weights = runs.flat().map((f) => f[pane.weights].flat());
      const longest = Math.max(1e-300, ...weights.map((w) => Math.hypot(...w)));
      const scale = (0.46 * Math.min(xs[1] - xs[0], ys[1] - ys[0])) / longest;
      const side = make("polygon", { class: "side" }), border = make("polyline", { class: "border" });
      ax.plot.append(side);
      pane.X.forEach((p, i) => ax.plot.append(mark(pane.y ? names.indexOf(pane.y[i]) : 0, ax.x(p[0]), ax.y(p[1]))));
      const old = arrow("old"), change = arrow("change"), now = arrow("now");
      const ring = make("circle", { class: "ring", r: 9.5 });
      ax.plot.append(border, ...old.nodes, ...change.nodes, ...now.nodes, ring);
      const at = (w) => [ax.x(from[0] + scale * w[0]), ax.y(from[1] + scale * w[1])];
      const draw = (frame, step, run) => {
        const w = frame[pane.weights].flat(), b = scalar(frame[pane.offset]) ?? 0;
        const before = (run[Math.max(step - 1, 0)][pane.weights]).flat(), start = at([0, 0]);
        const g = ([u, v]) => w[0] * u + w[1] * v + b, some = w[0] !== 0 || w[1] !== 0;
        const positive = some ? halfPlane(corners, g) : [];
        set(side, { points: joined(positive.map(([u, v]) => [ax.x(u), ax.y(v)])) });
        const size = Math.hypot(...w) * (xs[1] - xs[0]);
        const cut = positive.filter((p) => Math.abs(g(p)) < 1e-9 * size);
        set(border, { points: joined(cut.map(([u, v]) => [ax.x(u), ax.y(v)])) });
        old.point(...start, ...at(before));
        change.point(...at(before), ...at(w));
        now.point(...start, ...at(w));
        const index = pane.highlight ? scalar(frame[pane.highlight]) : null, p = pane.X[index];
        show(ring, Boolean(p));
        if (p) set(ring, { cx: ax.x(p[0]), cy: ax.y(p[1]) });
      };
      return { node: ax.svg, draw };
    },

    margins(pane) {
      const ax = axes(pane, ...pane.window), names = classes(pane.y);
      const sets = ["margin", "border", "margin"].map((name) => make("g", { class: `levels ${name}` }));
      const held = make("g"), rings = make("g");
      const at = ([u, v]) => [ax.x(u), ax.y(v)];
      ax.plot.append(...sets, held, ...pane.X.map((p, i) => mark(names.indexOf(pane.y[i]), ...at(p))), rings);
      const circle = (name, i, r) => make("circle", { class: name, cx: at(pane.X[i])[0], cy: at(pane.X[i])[1], r });
      const draw = (frame) => {
        sets.forEach((group, k) => group.replaceChildren(...frame[pane.field][k].map((line) =>
          make("polyline", { points: joined(line.map(at)) }))));
        const kinds = pane.support ? frame[pane.support] : [];
        held.replaceChildren(...kinds.flatMap((kind, i) => (kind ? [circle(kind === 1 ? "held" : "held bound", i, 7.5)] : [])));
        const some = pane.highlight ? [frame[pane.highlight]].flat() : [];
        rings.replaceChildren(...some.filter((i) => pane.X[i]).map((i) => circle("ring", i, 11)));
      };
      return { node: ax.svg, draw };
    },

    box(pane) {
      const [start, end, ends, top] = pane.fields, c = pane.bound, room = [-0.3 * c, 1.3 * c];
      const ax = axes(pane, room, room), at = ([u, v]) => [ax.x(u), ax.y(v)];
      const corners = [[0, 0], [c, 0], [c, c], [0, c]];
      const line = make("polyline", { class: "allowed-line" }), part = make("polyline", { class: "allowed" });
      const move = arrow("change"), peak = make("circle", { class: "peak", r: 6 });
      const from = make("circle", { class: "from", r: 4.5 }), to = make("circle", { class: "here", r: 6 });
      ax.plot.append(make("polygon", { class: "side outline", points: joined(corners.map(at)) }), line, part, ...move.nodes, peak, from, to);
      const draw = (frame) => {
        const [a, b] = frame[ends], s = frame[start], e = frame[end], t = frame[top];
        const sign = Math.sign((b[0] - a[0]) * (b[1] - a[1])) || 1, far = 2 * c;
        set(line, { points: joined([[s[0] - sign * far, s[1] - far], [s[0] + sign * far, s[1] + far]].map(at)) });
        set(part, { points: joined([a, b].map(at)) });
        move.point(...at(s), ...at(e));
        [[from, s], [to, e], [peak, t]].forEach(([node, p]) => {
          show(node, Boolean(p));
          if (p) set(node, { cx: at(p)[0], cy: at(p)[1] });
        });
      };
      return { node: ax.svg, draw };
    },

    fit(pane) {
      const ax = axes(pane, range(pane.x.map(scalar), 0.08), range(pane.y, 0.12));
      const residuals = pane.x.map(() => make("line", { class: "residual" }));
      const line = make("line", { class: "border" });
      if (pane.residuals) ax.plot.append(...residuals);
      ax.plot.append(line, ...pane.x.map((v, i) => mark(0, ax.x(scalar(v)), ax.y(pane.y[i]), 4)));
      const draw = (frame) => {
        const slope = scalar(frame[pane.slope]), offset = scalar(frame[pane.offset]) ?? 0;
        const at = (v) => ax.y(slope * v + offset), [a, b] = ax.xRange;
        set(line, { x1: ax.x(a), y1: at(a), x2: ax.x(b), y2: at(b) });
        pane.x.forEach((raw, i) => {
          const v = scalar(raw);
          set(residuals[i], { x1: ax.x(v), x2: ax.x(v), y1: ax.y(pane.y[i]), y2: at(v) });
        });
      };
      return { node: ax.svg, draw };
    },

    lines(pane, runs) {
      const still = Object.entries(pane.fixed), [px, py] = pane.points ?? [];
      const all = runs.flat().flatMap((f) => [...pane.fields.flatMap((k) => f[k]), ...(py ? f[py] : [])]);
      const ax = axes(pane, range(pane.x, 0), pane.ylim ?? range([...all, ...still.flatMap(([, v]) => v)]));
      const over = (values) => joined(values.map((v, k) => [pane.x[k], v]).filter((p) => finite(p).length === 2)
        .map(([u, v]) => [ax.x(u), clamp(ax.y(v), -H, 2 * H)]));
      const before = make("g"), marks = make("g");
      const drawn = pane.fields.map((field, k) => make("polyline", { class: "done", style: `stroke:${colour(k)}` }));
      ax.plot.append(before, ...still.map(([, values]) => make("polyline", { class: "fixed", points: over(values) })), marks, ...drawn);
      const legend = make("p", { class: "legend" },
        ...pane.fields.map((field, k) => make("span", {}, make("i", { style: `background:${colour(k)}` }), field)),
        ...still.map(([name]) => make("span", {}, make("i", { class: "fixed" }), name)));
      const draw = (frame, step, run) => {
        const earlier = pane.trail ? run.slice(0, step) : [];
        before.replaceChildren(...earlier.map((f) => make("polyline", { class: "trail", points: over(f[pane.fields[0]]) })));
        marks.replaceChildren(...(px ? frame[px].map((u, i) => mark(0, ax.x(u), ax.y(frame[py][i]), 4)) : []));
        drawn.forEach((line, k) => set(line, { points: over(frame[pane.fields[k]]) }));
      };
      return { node: ax.svg, draw, legend };
    },

    contour(pane) {
      const ax = axes(pane, pane.x, pane.y), area = make("polygon", { class: "side outline" });
      ax.plot.append(area);
      for (const line of pane.lines) {
        ax.plot.append(make("polyline", { class: "level", points: joined(line.map(([u, v]) => [ax.x(u), ax.y(v)])) }));
      }
      if (pane.minimum) {
        const [u, v] = [ax.x(pane.minimum[0]), ax.y(pane.minimum[1])];
        ax.plot.append(make("path", { class: "minimum", d: `M${u - 6} ${v}h12M${u} ${v - 6}v12` }));
      }
      const way = make("polyline", { class: "way" }), dots = make("g", { class: "dots" });
      const here = make("circle", { class: "here", r: 6 });
      ax.plot.append(way, dots, here);
      const draw = (frame, step, run) => {
        if (pane.outline) set(area, { points: joined(frame[pane.outline].map(([u, v]) => [ax.x(u), ax.y(v)])) });
        const points = run.slice(0, step + 1).map((f) => f[pane.path].flat()).map(([u, v]) => [ax.x(u), ax.y(v)]);
        set(way, { points: joined(points) });
        dots.replaceChildren(...points.map(([cx, cy]) => make("circle", { cx, cy, r: 2.4 })));
        set(here, { cx: points.at(-1)[0], cy: points.at(-1)[1] });
      };
      return { node: ax.svg, draw };
    },

    curve(pane, runs) {
      const good = (v) => typeof v === "number" && (!pane.log || v > 0);
      const values = runs.flat().flatMap((f) => pane.fields.map((k) => scalar(f[k]))).filter(good);
      const place = (frame, i) => (pane.x ? scalar(frame[pane.x]) : i);
      const xs = range(runs.flatMap((run) => run.map(place)), 0.02);
      const ax = axes(pane, xs, range(pane.log ? values.map(Math.log10) : values), { log: pane.log });
      const lines = pane.fields.map((field, k) => {
        const whole = make("polyline", { class: "whole", style: `stroke:${colour(k)}` });
        const done = make("polyline", { class: "done", style: `stroke:${colour(k)}` });
        const dot = make("circle", { class: "dot", r: 4.5, style: `fill:${colour(k)}` });
        ax.plot.append(whole, done, dot);
        return { field, whole, done, dot };
      });
      const cursor = make("line", { class: "cursor", y1: ax.box.y, y2: ax.box.y + ax.box.height });
      ax.plot.prepend(cursor);
      const legend = pane.fields.length > 1 && make("p", { class: "legend" }, ...pane.fields.map((field, k) =>
        make("span", {}, make("i", { style: `background:${colour(k)}` }), pane.names?.[field] ?? field)));
      const points = (run, field) => run.map((f, i) => [place(f, i), scalar(f[field])])
        .filter(([, v]) => good(v)).map(([i, v]) => [ax.x(i), ax.y(v)]);
      const draw = (frame, step, run) => {
        const at = ax.x(place(frame, step));
        set(cursor, { x1: at, x2: at });
        for (const { field, whole, done, dot } of lines) {
          set(whole, { points: joined(points(run, field)) });
          set(done, { points: joined(points(run.slice(0, step + 1), field)) });
          const value = scalar(frame[field]);
          show(dot, good(value));
          if (good(value)) set(dot, { cx: at, cy: ax.y(value) });
        }
      };
      const seek = (fraction, run) => {
        const wanted = xs[0] + ((fraction * W - EDGE.left) / ax.box.width) * (xs[1] - xs[0]);
        let best = 0;
        run.forEach((f, i) => {
          if (Math.abs(place(f, i) - wanted) < Math.abs(place(run[best], best) - wanted)) best = i;
        });
        return best;
      };
      return { node: ax.svg, draw, seek, legend };
    },

    path(pane, runs) {
      const all = (field) => range(runs.flat().map((f) => scalar(f[field])), 0.04);
      const ax = axes(pane, all(pane.x), all(pane.y));
      if (pane.diagonal) {
        ax.plot.append(make("line", { class: "diagonal", x1: ax.x(0), y1: ax.y(0), x2: ax.x(1), y2: ax.y(1) }));
      }
      const whole = make("polyline", { class: "whole", style: `stroke:${colour(0)}` });
      const done = make("polyline", { class: "done", style: `stroke:${colour(0)}` });
      const here = make("circle", { class: "here", r: 6 });
      ax.plot.append(whole, done, here);
      const points = (run) => run.map((f) => [scalar(f[pane.x]), scalar(f[pane.y])])
        .filter((p) => finite(p).length === 2).map(([u, v]) => [ax.x(u), ax.y(v)]);
      const draw = (frame, step, run) => {
        set(whole, { points: joined(points(run)) });
        set(done, { points: joined(points(run.slice(0, step + 1))) });
        const [point] = points([frame]);
        show(here, Boolean(point));
        if (point) set(here, { cx: point[0], cy: point[1] });
      };
      return { node: ax.svg, draw };
    },

    strip(pane) {
      const ax = axes(pane, range(pane.scores, 0.05), [0, 1], { yTicks: false }), names = classes(pane.y);
      const side = make("rect", { class: "side", y: ax.box.y, height: ax.box.height });
      const line = make("line", { class: "border", y1: ax.box.y, y2: ax.box.y + ax.box.height });
      const row = (i) => (names.indexOf(pane.y[i]) === 0 ? 0.56 : 0.06);
      const spread = (i) => 0.36 * ((i * 0.6180339887) % 1); // even, and the same at every visit
      const marks = pane.scores.map((s, i) => mark(names.indexOf(pane.y[i]), ax.x(s), ax.y(row(i) + spread(i)), 3.6));
      const titles = names.slice(0, 2).map((name, k) =>
        make("text", { class: "tick", x: ax.box.x + 6, y: ax.y(k === 0 ? 0.955 : 0.455) }, `y = ${text(name)}`));
      ax.plot.append(side, ...marks, line, ...titles);
      const draw = (frame) => {
        const threshold = frame[pane.threshold] ?? Infinity;
        const at = clamp(ax.x(threshold), ax.box.x, ax.box.x + ax.box.width);
        set(line, { x1: at, x2: at });
        set(side, { x: at, width: ax.box.x + ax.box.width - at });
        marks.forEach((m, i) => m.classList.toggle("hollow", pane.scores[i] < threshold));
      };
      return { node: ax.svg, draw };
    },

    matrix(pane, runs) {
      const most = Math.max(1e-300, ...runs.flat().flatMap((f) => finite(f[pane.field].flat(2)).map(Math.abs)));
      const first = runs[0][0][pane.field];
      const cells = first.map((row) => row.map(() => make("td")));
      const head = pane.columns && make("tr", {}, make("td"), ...pane.columns.map((c) => make("th", { scope: "col" }, c)));
      const body = cells.map((row, i) => make("tr", {}, ...(pane.rows ? [make("th", { scope: "row" }, pane.rows[i])] : []), ...row));
      const node = make("table", { class: "matrix" }, make("tbody", {}, ...(head ? [head] : []), ...body));
      const draw = (frame) => frame[pane.field].forEach((row, i) => row.forEach((value, j) => {
        cells[i][j].textContent = text(value);
        cells[i][j].style.setProperty("--share", `${Math.round((42 * Math.abs(value ?? 0)) / most)}%`);
      }));
      return { node, draw };
    },

    // A picture: a number from 0 (black) to 1 (white) for each pixel.
    image(pane, runs) {
      const first = runs[0][0][pane.field], node = document.createElement("canvas");
      node.height = first.length;
      node.width = first[0].length;
      node.className = "picture";
      node.setAttribute("role", "img");
      node.setAttribute("aria-label", pane.title || pane.type);
      const context = node.getContext("2d"), pixels = context.createImageData(node.width, node.height);
      const draw = (frame) => {
        frame[pane.field].flat().forEach((value, k) => {
          pixels.data.fill(Math.round(255 * Math.min(1, Math.max(0, value ?? 0))), 4 * k, 4 * k + 3);
          pixels.data[4 * k + 3] = 255;
        });
        context.putImageData(pixels, 0, 0);
      };
      return { node, draw };
    },

    bars(pane, runs) {
      const all = runs.flat().flatMap((f) => f[pane.field].flat()), many = runs[0][0][pane.field].flat().length;
      const ax = axes(pane, [-0.6, many - 0.4], range([0, ...all]), { xTicks: !pane.names });
      const wide = Math.min(0.72 * (ax.x(1) - ax.x(0)), 46);
      const blocks = Array.from({ length: many }, (_, k) => make("rect", { class: "block", x: ax.x(k) - wide / 2, width: wide }));
      const names = (pane.names ?? []).map((name, k) =>
        make("text", { class: "tick", x: ax.x(k), y: H - EDGE.bottom + 17, "text-anchor": "middle" }, name));
      ax.plot.append(...blocks, make("line", { class: "zero", x1: ax.box.x, x2: ax.box.x + ax.box.width, y1: ax.y(0), y2: ax.y(0) }));
      ax.svg.append(...names);
      const draw = (frame) => frame[pane.field].flat().forEach((value, k) => {
        const [top, foot] = [ax.y(Math.max(value ?? 0, 0)), ax.y(Math.min(value ?? 0, 0))];
        set(blocks[k], { y: top, height: foot - top });
      });
      return { node: ax.svg, draw };
    },

    // Places in reading order, twenty a line: a symbol above, a cell for each state below.
    sequence(pane, runs) {
      const states = (frame) => (Array.isArray(frame[pane.field][0]) ? frame[pane.field] : [frame[pane.field]]);
      const many = pane.symbols.length, across = Math.min(many, 20), down = states(runs[0][0]).length;
      const left = pane.states ? 74 : 12, size = (W - left - 12) / across, high = Math.min(size, 30);
      const place = (i, k) => [left + (i % across) * size, 28 + Math.floor(i / across) * (down * high + 34) + k * high];
      const last = place(many - 1, down)[1] + 12, svg = make("svg", { viewBox: `0 0 ${W} ${last}`, role: "img", "aria-label": pane.title || pane.type });
      const cells = Array.from({ length: down }, (_, k) => pane.symbols.map((_, i) => {
        const [x, y] = place(i, k);
        return make("rect", { class: "cell", x: x + 1, y: y + 1, width: size - 2, height: high - 2, rx: 2 });
      }));
      const symbols = pane.symbols.map((symbol, i) => {
        const [x, y] = place(i, 0);
        return make("text", { class: "tick", x: x + size / 2, y: y - 6, "text-anchor": "middle" }, symbol);
      });
      const names = pane.symbols.flatMap((_, i) => (i % across || !pane.states ? [] : pane.states.map((name, k) => {
        const [x, y] = place(i, k);
        return make("text", { class: "tick", x: x - 8, y: y + high / 2 + 4, "text-anchor": "end" }, name);
      })));
      const ring = make("rect", { class: "ring", width: size, height: down * high, rx: 3 });
      svg.append(...cells.flat(), ...symbols, ...names, ring);
      const draw = (frame) => {
        states(frame).forEach((row, k) => row.forEach((share, i) => set(cells[k][i], { "fill-opacity": clamp(share ?? 0, 0, 1) })));
        const here = pane.at && frame[pane.at];
        show(ring, Number.isInteger(here));
        if (Number.isInteger(here)) [["x", 0], ["y", 1]].forEach(([name, k]) => set(ring, { [name]: place(here, 0)[k] }));
      };
      return { node: svg, draw };
    },

    // What chains have visited, step by step, and beside it how often: a frame holds the values since the last one.
    chain(pane, runs) {
      const visited = (run, field) => run.flatMap((f) => f[field]);
      const all = range(runs.flatMap((run) => pane.fields.flatMap((field) => visited(run, field))), 0.04);
      const steps = Math.max(...runs.map((run) => visited(run, pane.fields[0]).length)), BINS = 32, SHARE = 0.74;
      const ax = axes(pane, [0, steps / SHARE], all, { xTicks: false }), edge = ax.x(steps);
      for (const v of ticks(0, steps)) {
        ax.svg.append(make("text", { class: "tick", x: ax.x(v), y: H - EDGE.bottom + 17, "text-anchor": "middle" }, tickText(v)));
      }
      const traces = pane.fields.map((_, k) => make("polyline", { class: "steps", style: `stroke:${colour(k)}` }));
      const counts = pane.fields.map((_, k) => make("path", { class: "counts", style: `fill:${colour(k)}` }));
      const level = Number.isFinite(pane.level) ? [make("line", { class: "fixed", x1: ax.box.x, x2: W, y1: ax.y(pane.level), y2: ax.y(pane.level) })] : [];
      ax.plot.append(make("line", { class: "cursor", x1: edge, x2: edge, y1: ax.box.y, y2: ax.box.y + ax.box.height }), ...traces, ...counts, ...level);
      const legend = pane.fields.length > 1 && make("p", { class: "legend" }, ...pane.fields.map((field, k) =>
        make("span", {}, make("i", { style: `background:${colour(k)}` }), pane.names?.[field] ?? field)));
      const draw = (frame, step, run) => {
        pane.fields.forEach((field, k) => {
          const values = visited(run.slice(0, step + 1), field), bins = new Array(BINS).fill(0);
          for (const v of values) bins[clamp(Math.floor((BINS * (v - all[0])) / (all[1] - all[0])), 0, BINS - 1)]++;
          const wide = (ax.box.x + ax.box.width - edge) / Math.max(...bins), high = ax.box.height / BINS;
          set(traces[k], { points: joined(values.map((v, i) => [ax.x(i), ax.y(v)])) });
          const outline = bins.map((n, i) => `H${(edge + n * wide).toFixed(1)}V${(ax.box.y + ax.box.height - (i + 1) * high).toFixed(1)}`);
          set(counts[k], { d: `M${edge} ${ax.box.y + ax.box.height}${outline.join("")}H${edge}Z` });
        });
      };
      return { node: ax.svg, draw, legend };
    },

    tree(pane) {
      const across = Math.max(...pane.places.map(([x]) => x)), down = Math.max(...pane.places.map(([, y]) => y));
      const at = ([x, y]) => [40 + ((W - 80) * (x + (across ? 0 : 0.5))) / (across || 1), 22 + ((H - 70) * y) / (down || 1)];
      const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": pane.title || "tree" });
      const edges = [], knots = pane.places.map((place, k) => {
        const [x, y] = at(place), dot = make("circle", { cx: x, cy: y, r: 7 });
        const words = pane.texts[k].split("\n").map((part, i) =>
          make("text", { class: "tick", x, y: y + 23 + 14 * i, "text-anchor": "middle" }, part));
        for (const child of pane.children[k]) {
          const [u, v] = at(pane.places[child]);
          edges.push([k, make("line", { class: "edge", x1: x, y1: y, x2: u, y2: v })]);
        }
        return { dot, words: make("g", { class: "words" }, ...words) };
      });
      const parent = pane.places.map((_, k) => pane.children.findIndex((c) => c.includes(k)));
      svg.append(...edges.map(([, line]) => line), ...knots.flatMap(({ dot, words }) => [words, dot]));
      const draw = (frame, step, run) => {
        const seen = new Set(run.slice(0, step + 1).map((f) => f[pane.field]));
        knots.forEach(({ dot, words }, k) => {
          show(dot, parent[k] < 0 || seen.has(parent[k]));
          show(words, seen.has(k));
          set(dot, { class: k === frame[pane.field] ? "knot current" : seen.has(k) ? "knot" : "knot open" });
        });
        edges.forEach(([k, line]) => show(line, seen.has(k)));
      };
      return { node: svg, draw };
    },

    // A dendrogram: the joins made so far, the last one marked, and where a cut crosses them.
    merges(pane) {
      const n = pane.children.length + 1, top = Math.max(...pane.heights) || 1;
      const ax = axes(pane, [-0.7, n - 0.3], [0, 1.06 * top], { xTicks: false });
      const height = (k) => (k < n ? 0 : pane.heights[k - n]);
      const joins = pane.children.map(([a, b], i) => make("polyline", { points: joined([
        [a, height(a)], [a, pane.heights[i]], [b, pane.heights[i]], [b, height(b)],
      ].map(([k, h]) => [ax.x(pane.across[k]), ax.y(h)])) }));
      const names = (pane.names ?? []).map((name, k) =>
        make("text", { class: "tick", x: ax.x(pane.across[k]), y: H - EDGE.bottom + 17, "text-anchor": "middle" }, name));
      const cut = make("line", { class: "fixed", x1: ax.box.x, x2: ax.box.x + ax.box.width });
      const feet = Array.from({ length: n }, (_, k) => make("circle", { class: "foot", cx: ax.x(pane.across[k]), cy: ax.y(0), r: 2.4 }));
      ax.plot.append(...joins, ...feet, cut);
      ax.svg.append(...names);
      const draw = (frame) => {
        const made = scalar(frame[pane.field]);
        joins.forEach((line, i) => {
          show(line, i < made);
          set(line, { class: i === made - 1 ? "join current" : "join" });
        });
        const at = pane.cut ? frame[pane.cut] : null;
        show(cut, typeof at === "number");
        if (typeof at === "number") set(cut, { y1: ax.y(at), y2: ax.y(at) });
      };
      return { node: ax.svg, draw };
    },

    cells(pane) {
      const ax = axes(pane, ...pane.window), at = ([u, v]) => [ax.x(u), ax.y(v)], names = pane.y ? classes(pane.y) : [null];
      const boxes = pane.boxes.map(([x0, y0, x1, y1]) =>
        make("rect", { x: ax.x(x0), y: ax.y(y1), width: ax.x(x1) - ax.x(x0), height: ax.y(y0) - ax.y(y1) }));
      const rings = make("g"), circle = make("polygon", { class: "reach" });
      const cross = make("path", { class: "query" });
      ax.plot.append(...boxes, ...pane.X.map((p, i) => mark(pane.y ? names.indexOf(pane.y[i]) : 0, ...at(p), 3.6)), circle, rings, cross);
      const draw = (frame) => {
        frame[pane.field].forEach((kind, i) => {
          show(boxes[i], kind > 0);
          set(boxes[i], { class: `region ${["", "", "open", "closed"][kind] ?? ""}` });
        });
        const q = pane.query && frame[pane.query], r = pane.radius && frame[pane.radius];
        show(cross, Boolean(q));
        show(circle, Boolean(q) && Number.isFinite(r));
        if (q) set(cross, { d: `M${at(q)[0] - 7} ${at(q)[1]}h14M${at(q)[0]} ${at(q)[1] - 7}v14` });
        if (q && Number.isFinite(r)) set(circle, { points: joined(round(q, [[r, 0], [0, r]]).map(at)) });
        const some = pane.highlight ? [frame[pane.highlight]].flat() : [];
        rings.replaceChildren(...some.filter((i) => pane.X[i]).map((i) =>
          make("circle", { class: "ring", cx: at(pane.X[i])[0], cy: at(pane.X[i])[1], r: 9 })));
      };
      return { node: ax.svg, draw };
    },

    // Points and prototypes; the region nearest to each is what all bisectors leave of the frame.
    prototypes(pane) {
      const ax = axes(pane, ...pane.window), at = ([u, v]) => [ax.x(u), ax.y(v)], [xs, ys] = pane.window;
      const corners = [[xs[0], ys[0]], [xs[1], ys[0]], [xs[1], ys[1]], [xs[0], ys[1]]];
      const kinds = pane.classes && [...new Set([...pane.classes, ...(pane.y ?? [])])].sort((a, b) => (a < b ? 1 : -1));
      const kind = (k) => (kinds ? kinds.indexOf(pane.classes[k]) : k);
      const names = kinds ?? (pane.y ? classes(pane.y) : []);
      const regions = make("g"), marks = make("g"), ways = make("g"), heads = make("g"), rings = make("g");
      const still = pane.X.map((p, i) => (pane.assigned ? null : mark(pane.y ? names.indexOf(pane.y[i]) : 0, ...at(p), 3.6)));
      marks.append(...still.filter(Boolean));
      ax.plot.append(regions, marks, ways, heads, rings);
      const draw = (frame, step, run) => {
        const centers = frame[pane.field];
        if (pane.regions) regions.replaceChildren(...centers.map((c, k) => {
          const nearer = (d) => ([u, v]) => (u - (c[0] + d[0]) / 2) * (c[0] - d[0]) + (v - (c[1] + d[1]) / 2) * (c[1] - d[1]);
          const own = centers.reduce((kept, d, j) => (j === k ? kept : halfPlane(kept, nearer(d))), corners);
          return make("polygon", { class: "own", style: `fill:${colour(kind(k))}`, points: joined(own.map(at)) });
        }));
        if (pane.assigned) marks.replaceChildren(...frame[pane.assigned].map((k, i) => {
          const point = mark(Math.max(kind(k), 0), ...at(pane.X[i]), 3.6);
          if (k < 0) point.style.fill = "var(--book-muted)";
          return point;
        }));
        const past = run.slice(Math.max(0, step - 40), step + 1).map((f) => f[pane.field]);
        ways.replaceChildren(...centers.map((_, k) => make("polyline", { class: "way", points: joined(past.filter((f) => f[k]).map((f) => at(f[k]))) })));
        heads.replaceChildren(...centers.map((c, k) => {
          const head = mark(kind(k), ...at(c), 8);
          head.classList.add("head");
          return head;
        }));
        const some = pane.highlight ? [frame[pane.highlight]].flat() : [];
        rings.replaceChildren(...some.filter((i) => pane.X[i]).map((i) =>
          make("circle", { class: "ring", cx: at(pane.X[i])[0], cy: at(pane.X[i])[1], r: 9 })));
      };
      return { node: ax.svg, draw };
    },

    ellipses(pane) {
      const ax = axes(pane, ...pane.window), at = ([u, v]) => [ax.x(u), ax.y(v)];
      const marks = make("g"), shapes = make("g");
      if (!pane.shares) marks.append(...pane.X.map((p) => mark(0, ...at(p), 3.6)));
      ax.plot.append(marks, shapes);
      const draw = (frame) => {
        if (pane.shares) marks.replaceChildren(...frame[pane.shares].map((row, i) => {
          const most = Math.max(...row), point = mark(row.indexOf(most), ...at(pane.X[i]), 3.6);
          set(point, { "fill-opacity": 0.15 + 0.75 * clamp((most - 1 / row.length) / (1 - 1 / row.length || 1), 0, 1) });
          return point;
        }));
        shapes.replaceChildren(...frame[pane.means].flatMap((mean, k) => {
          const shape = root(frame[pane.covariances][k]), style = `stroke:${colour(k)}`;
          return [...[1, 2].map((size) => make("polygon", { class: `deviation of-${size}`, style,
            points: joined(round(mean, shape.map((row) => row.map((v) => size * v))).map(at)) })), mark(k, ...at(mean), 7)];
        }));
      };
      return { node: ax.svg, draw };
    },

    trellis(pane, runs) {
      const many = pane.symbols.length, down = pane.states.length, left = 74, high = Math.min(64, 240 / down);
      const x = (t) => left + 24 + ((W - left - 48) * t) / Math.max(many - 1, 1), y = (s) => 52 + s * high;
      const radius = Math.min(15, 0.3 * high, (0.36 * (W - left)) / many);
      const svg = make("svg", { viewBox: `0 0 ${W} ${52 + down * high}`, role: "img", "aria-label": pane.title || pane.type });
      const edges = make("g"), words = [...pane.symbols.map((symbol, t) => [symbol, x(t), 18, "middle"]),
        ...pane.states.map((name, s) => [name, left - 4, y(s) + 4, "end"])];
      const knots = pane.symbols.map((_, t) => pane.states.map((_, s) => make("circle", { cx: x(t), cy: y(s), r: radius })));
      const ring = make("rect", { class: "ring", y: 28, width: 2 * radius + 12, height: (down - 1) * high + 48 - high / 4, rx: 6 });
      svg.append(edges, ...knots.flat(), ring, ...words.map(([word, u, v, side]) =>
        make("text", { class: "tick", x: u, y: v, "text-anchor": side }, word)));
      const draw = (frame) => {
        const way = pane.path ? frame[pane.path] : [], back = pane.back ? frame[pane.back] : [];
        edges.replaceChildren(...back.flatMap((row, t) => (t ? row.flatMap((from, s) => (from === null || from < 0 ? [] : [
          make("line", { class: `edge${way[t] === s && way[t - 1] === from ? " chosen" : ""}`, x1: x(t - 1), y1: y(from), x2: x(t), y2: y(s) })])) : [])));
        if (!pane.back) edges.replaceChildren(...way.slice(1).flatMap((s, t) => (s >= 0 && way[t] >= 0
          ? [make("line", { class: "edge chosen", x1: x(t), y1: y(way[t]), x2: x(t + 1), y2: y(s) })] : [])));
        knots.forEach((row, t) => row.forEach((knot, s) => {
          const share = frame[pane.field][t]?.[s];
          set(knot, { class: `node${share === null || share === undefined ? " empty" : ""}${way[t] === s ? " chosen" : ""}`,
            style: `--share:${Math.round(100 * clamp(share ?? 0, 0, 1))}%` });
        }));
        const here = pane.at && frame[pane.at];
        show(ring, Number.isInteger(here));
        if (Number.isInteger(here)) set(ring, { x: x(here) - radius - 6 });
      };
      return { node: svg, draw };
    },

    table(pane) {
      const cells = pane.fields.map((field) => make("dd", { "data-field": field }));
      const rows = pane.fields.map((field, k) => make("div", {}, make("dt", {}, pane.names?.[field] ?? field), cells[k]));
      const node = make("dl", { class: "numbers" }, ...rows);
      const draw = (frame) => pane.fields.forEach((field, k) => (cells[k].textContent = text(frame[field])));
      return { node, draw };
    },
  };

  const ICONS = {
    first: "M6 5v14M19 5l-9 7 9 7z",
    back: "M15 5l-9 7 9 7z",
    play: "M7 4l13 8-13 8z",
    pause: "M8 5v14M16 5v14",
    next: "M9 5l9 7-9 7z",
    last: "M18 5v14M5 5l9 7-9 7z",
    line: "M5 6h9M5 11h6M17 8v10M13 14l4 5 4-5z",
    save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  };

  function button(name, label, onclick) {
    const path = make("path", { d: ICONS[name] });
    const node = make("button", { type: "button", class: name, "aria-label": label, title: label, onclick },
      make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, path));
    node.become = (icon, said) => {
      path.setAttribute("d", ICONS[icon]);
      set(node, { "aria-label": said, title: said });
    };
    return node;
  }

  /** All numbers of a run as comma-separated values: one row a frame, one column a number. */
  function csv(run) {
    const flat = run.map((frame) => Object.fromEntries(Object.entries(frame).flatMap(([key, value]) =>
      Array.isArray(value) ? value.flat(Infinity).map((v, k) => [`${key}[${k}]`, v]) : [[key, value]])));
    const names = [...new Set(flat.flatMap(Object.keys))];
    const cell = (v) => (typeof v === "string" ? `"${v.replaceAll('"', '""')}"` : v ?? "");
    return [names.map(cell), ...flat.map((row) => names.map((n) => cell(row[n])))].map((r) => r.join(",")).join("\n");
  }

  /** The page's pseudocode, copied into the player so that it is in sight. */
  function pseudocode(id) {
    const original = id && document.getElementById(id);
    if (!original) return null;
    const copy = original.cloneNode(true);
    copy.removeAttribute("id");
    copy.querySelectorAll("[id]").forEach((n) => n.removeAttribute("id"));
    copy.querySelectorAll(".headerlink").forEach((n) => n.remove());
    const rows = [...copy.querySelectorAll(".algorithm-line:not(.unnumbered)")], lines = source(original);
    const quote = make("pre", { class: "quote", role: "group", tabindex: 0, "aria-label": "The source" });
    /** Mark the line at the given place among those that led to this frame; the others of them are tinted. */
    const light = (frame, place) => {
      const ran = linesOf(frame), now = ran[place];
      rows.forEach((row, k) => {
        row.classList.toggle("current", k + 1 === now);
        row.classList.toggle("ran", ran.includes(k + 1));
      });
      quote.replaceChildren(...(lines.get(now) ?? []).map((line) => line.cloneNode(true)));
    };
    const most = Math.max(0, ...[...lines.values()].map((found) => found.length));
    quote.style.minHeight = `${1.55 * most + 0.8}em`; // as high as it gets: nothing below moves
    return { node: copy, quote: most ? quote : "", light, draw() {} };
  }

  /** The lines of pseudocode that led to a frame. */
  const linesOf = (frame) => [frame.line ?? []].flat();

  /** For each line of pseudocode the quoted lines of source that run it, or that cite its equations. */
  function source(algorithm) {
    const citing = [...document.querySelectorAll("figure.source:not(.docstring) .citing")];
    const found = new Map();
    algorithm.querySelectorAll(".algorithm-line:not(.unnumbered)").forEach((row, k) => {
      const named = (row.dataset.runs ?? "").split(" ").filter(Boolean).map((id) => document.getElementById(id));
      const equations = new Set([...row.querySelectorAll("a[href*='#equation-']")].map((a) => a.hash));
      const lines = named.length ? named : citing.filter((line) =>
        [...line.querySelectorAll(".c1 .cites")].some((a) => equations.has(a.hash)));
      if (lines.length) found.set(k + 1, lines.slice(0, 4));
    });
    return found;
  }

  function start(root) {
    const inline = root.querySelector("script[type='application/json']");
    const data = inline ? JSON.parse(inline.textContent) : window.bookRecordings[root.id];
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    let run = data.runs[0], step = 0, timer = null, speed = 1, place = 0, walk = null;

    const panes = data.panes.map((pane) => {
      const view = views[pane.type](pane, data.runs);
      const inside = [pane.title && make("p", { class: "pane-title" }, pane.title), view.legend, view.node];
      return { ...view, box: make("div", { class: `pane ${pane.type}` }, ...inside.filter(Boolean)) };
    });
    const code = pseudocode(data.algorithm);
    if (code) panes.push({ ...code, box: make("div", { class: "pane code" }, code.node, code.quote) });

    const first = button("first", "First step", () => go(0));
    const back = button("back", "Step back", () => go(step - 1));
    const play = button("play", "Play", () => (timer ? pause() : begin()));
    const next = button("next", "Step forward", () => go(step + 1, true));
    const line = button("line", "Next line of the pseudocode", () => nextLine());
    const byLine = code && data.runs.flat().some((frame) => linesOf(frame).length > 1);
    const last = button("last", "Last step", () => go(run.length - 1));
    const scrub = make("input", { type: "range", class: "scrub", min: 0, step: 1, "aria-label": "Step", oninput: () => go(+scrub.value) });
    const where = make("output", { class: "where" });
    const rate = make("select", { "aria-label": "Speed", class: "rate", onchange: () => { speed = +rate.value; if (timer) begin(); } },
      ...[0.5, 1, 2, 4].map((s) => make("option", { value: s, ...(s === 1 && { selected: "" }) }, `${s}×`)));
    const save = button("save", "Save the numbers as CSV", () => {
      const url = URL.createObjectURL(new Blob([csv(run)], { type: "text/csv" }));
      make("a", { href: url, download: `${root.id}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
    const page = location.pathname.split("/").at(-1).replace(/\.html$/, "") || "index";
    const python = make("a", { class: "python", href: `_static/runs/${page}.py`, download: `${page}.py`,
      title: "The Python that made this run" }, "Python");
    const noted = data.runs.flat().some((frame) => frame.note);
    const note = make("p", { class: "note", ...(!noted && { hidden: "" }) }), said = make("p", { class: "said", role: "status" });
    let rest = data.chosen ?? 0;
    const shown = data.sliders.map(({ values }) => values.length).reverse().map((many) => {
      const at = rest % many;
      rest = Math.floor(rest / many);
      return at;
    }).reverse();
    const sliders = data.sliders.map(({ name, values }, k) => {
      const input = make("input", { type: "range", min: 0, max: values.length - 1, step: 1, value: shown[k], "aria-label": name,
        oninput: () => { pause(); pick(); } });
      return { name, values, input, chosen: make("output") };
    });

    function pick() {
      run = data.runs[sliders.reduce((k, { values, input }) => k * values.length + +input.value, 0)];
      for (const { values, input, chosen } of sliders) {
        chosen.textContent = values[+input.value];
        input.setAttribute("aria-valuetext", values[+input.value]);
      }
      scrub.max = run.length - 1;
      draw(clamp(step, 0, run.length - 1));
    }

    function draw(to) {
      step = to;
      const frame = run[step];
      panes.forEach((pane) => pane.draw(frame, step, run));
      scrub.value = step;
      scrub.style.setProperty("--done", `${(100 * step) / Math.max(run.length - 1, 1)}%`);
      scrub.setAttribute("aria-valuetext", position(frame));
      where.textContent = position(frame);
      note.textContent = frame.note ?? "";
      root.dataset.frame = step;
      mark(linesOf(frame).length - 1);
      [first, back].forEach((b) => b.setAttribute("aria-disabled", step === 0));
      [next, last].forEach((b) => b.setAttribute("aria-disabled", step === run.length - 1));
      if (!timer) {
        const numbers = Object.entries(frame).filter(([k, v]) => typeof v === "number" && k !== "line" && k !== "step");
        said.textContent = `${position(frame)}. ${frame.note ?? ""} ` + numbers.map(([k, v]) => `${k} ${text(v)}`).join(", ");
      }
    }

    /** Where the run is: by its own counter (round 3 of 20), else by the frame. */
    function position(frame) {
      const name = data.counter;
      return name ? `${name} ${text(scalar(frame[name]))} of ${text(scalar(run.at(-1)[name]))}` : `${step + 1} / ${run.length}`;
    }

    function mark(to) {
      clearInterval(walk);
      place = Math.max(to, 0);
      code?.light(run[step], place);
      root.dataset.line = linesOf(run[step])[place] ?? "";
    }

    /** Let the mark walk over the lines that led to this frame, within the given milliseconds. */
    function stroll(time) {
      const many = linesOf(run[step]).length;
      if (!code || many < 2 || calm.matches) return;
      mark(0);
      walk = setInterval(() => (place < many - 1 ? ((place += 1), code.light(run[step], place), (root.dataset.line = linesOf(run[step])[place])) : clearInterval(walk)), time / many);
    }

    function nextLine() {
      pause();
      clearInterval(walk);
      if (place < linesOf(run[step]).length - 1) mark(place + 1);
      else if (step < run.length - 1) { draw(step + 1); mark(0); }
    }

    function go(to, forward = false) {
      pause();
      const moved = clamp(to, 0, run.length - 1) !== step;
      draw(clamp(to, 0, run.length - 1));
      if (forward && moved) stroll(500);
    }

    function begin() {
      clearInterval(timer);
      if (step === run.length - 1) draw(0);
      const pace = calm.matches ? Math.min(data.rate * speed, 1) : data.rate * speed;
      timer = setInterval(() => {
        if (step === run.length - 1) return pause();
        draw(step + 1);
        stroll(800 / pace);
      }, 1000 / pace);
      play.become("pause", "Pause");
    }

    function pause() {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      play.become("play", "Play");
      draw(step);
    }

    root.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target === rate) return;
      const own = event.target.tagName;
      if (event.key === " ") {
        if (own === "BUTTON") return;
        play.click();
      } else if (sliders.some(({ input }) => event.target === input)) return;
      else if (event.key === "ArrowRight") go(step + 1, true);
      else if (event.key === "ArrowDown" && byLine && own !== "INPUT") nextLine();
      else if (event.key === "ArrowLeft") go(step - 1);
      else if (event.key === "Home") go(0);
      else if (event.key === "End") go(run.length - 1);
      else return;
      event.preventDefault();
    });

    for (const pane of panes) {
      if (!pane.seek) continue;
      pane.node.classList.add("seek");
      const seek = (event) => {
        const frame = pane.node.getBoundingClientRect();
        go(pane.seek((event.clientX - frame.left) / frame.width, run));
      };
      pane.node.addEventListener("pointerdown", (event) => { pane.node.setPointerCapture(event.pointerId); seek(event); });
      pane.node.addEventListener("pointermove", (event) => event.buttons && seek(event));
    }

    const bar = make("div", { class: "bar" }, first, back, play, next, ...(byLine ? [line] : []), last, scrub, where, rate, save, python);
    const grid = sliders.map(({ name, input, chosen }) => make("label", { class: "choose" }, `${name} `, input, chosen));
    root.append(...[make("p", { class: "player-title" }, data.label), ...grid,
      make("div", { class: "panes" }, ...panes.map((p) => p.box)), note, bar, said].filter(Boolean));
    root.tabIndex = 0;
    run = data.runs[data.chosen ?? 0];
    root.dataset.frames = run.length;
    step = data.start < 0 ? run.length + data.start : data.start;
    pick();
  }

  // Loaded in a page's head: each player is drawn where it stands, before what follows it is. Loaded after it: now.
  window.bookPlayer = start;
  document.querySelectorAll(".player").forEach(start);
})();
