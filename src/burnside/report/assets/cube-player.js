/* The script knows no rule of the cube. States come from permutations in the data. A turn is shown by cutting the
   cube into at most three slabs at the turning layer. A slab is convex, so its visible faces are those that face the
   eye, and slabs are drawn from far to near: no depth sorting, no library. */
(() => {
  'use strict';
  const still = window.matchMedia && window.matchMedia('(prefers-reduced-motion: reduce)').matches;
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const add = (a, b, k) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  // right-handed rotation about a unit axis
  const rotate = (v, axis, angle) => {
    const c = Math.cos(angle), s = Math.sin(angle), along = dot(v, axis) * (1 - c), w = cross(axis, v);
    return [0, 1, 2].map((k) => v[k] * c + w[k] * s + axis[k] * along);
  };
  const start = (view) => {
    const data = JSON.parse(view.querySelector('script[type="application/json"]').textContent);
    const n = data.n, count = data.start.length, last = data.moves.length;
    const states = [[...data.start].map(Number)];
    for (const move of data.moves) states.push(data.turns[move].perm.map((from) => states[states.length - 1][from]));
    const canvas = view.querySelector('canvas'), brush = canvas.getContext('2d');
    const get = (name) => view.querySelector('[data-do="' + name + '"]');
    const slider = view.querySelector('input'), status = view.querySelector('.status');
    const items = [...view.querySelectorAll('.moves li')];
    const eye = 6.5 * n;
    let at = 0, part = 0, playing = false, running = false, wanted = null, before = 0;
    let yaw = -0.6, pitch = 0.5;
    const look = (v) => rotate(rotate(v, [0, 1, 0], yaw), [1, 0, 0], pitch);
    const project = (v) => {
      const scale = canvas.width * 0.285 * eye / (n * (eye - v[2]));
      return [canvas.width / 2 + scale * v[0], canvas.height / 2 - scale * v[1]];
    };
    const fill = (corners, colour) => {
      brush.fillStyle = colour;
      brush.beginPath();
      for (const corner of corners) brush.lineTo(...project(corner));
      brush.closePath();
      brush.fill();
    };
    // a square or rectangle given by its centre and two half sides, if it faces the eye
    const face = (centre, normal, p, q, colours, turn) => {
      const place = (v) => look(turn ? rotate(v, turn.axis, turn.now) : v);
      const middle = place(centre), out = place(normal);
      if (dot(out, add(middle, [0, 0, eye], -1)) >= 0) return;
      for (const [colour, size] of colours) {
        const corner = (i, j) => place(add(add(centre, p, i * size), q, j * size));
        fill([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)], colour);
      }
    };
    const draw = () => {
      brush.clearRect(0, 0, canvas.width, canvas.height);
      const state = states[at], move = part > 0 ? data.turns[data.moves[at]] : null;
      const turn = move && {axis: move.axis, now: move.sign * part * Math.PI / 2};
      const axis = move ? move.axis : [0, 0, 1];
      const cuts = move ? [move.at - 1, move.at + 1] : [-n, n];
      const slabs = [[-n, cuts[0]], cuts, [cuts[1], n]].map(([from, to], k) => ({from, to, turning: k === 1}));
      const e = dot(axis, rotate(rotate([0, 0, eye], [1, 0, 0], -pitch), [0, 1, 0], -yaw));
      const order = e >= cuts[1] ? [0, 1, 2] : e <= cuts[0] ? [2, 1, 0] : [0, 2, 1];
      for (const slab of order.map((k) => slabs[k]).filter(({from, to}) => to > from)) {
        const spun = slab.turning ? turn : null;
        if (move) {
          const p = [axis[1], axis[2], axis[0]].map((x) => n * Math.abs(x));
          const q = cross(axis, p);
          for (const [level, sign] of [[slab.from, -1], [slab.to, 1]]) {
            if (Math.abs(level) === n) continue;
            face(add([0, 0, 0], axis, level), add([0, 0, 0], axis, sign), p, q, [['#1b1f24', 1]], spun);
          }
        }
        for (let i = 0; i < count; i++) {
          const where = data.positions[i], normal = data.normals[i], level = dot(where, axis);
          if (level < slab.from || level > slab.to) continue;
          const p = [normal[1], normal[2], normal[0]], q = cross(normal, p);
          face(add(where, normal, 1), normal, p, q, [['#1b1f24', 1.01], [data.colours[state[i]], 0.88]], spun);
        }
      }
    };
    const tell = () => {
      view.dataset.state = states[at].map((c) => data.faces[c]).join('');
      view.dataset.at = at;
      slider.value = at;
      status.textContent = 'turn ' + at + ' of ' + last + (at ? ': ' + data.names[at - 1] : '');
      items.forEach((item, k) => {
        item.classList.toggle('done', k < at - 1);
        item.classList.toggle('now', k === at - 1);
      });
      get('first').disabled = get('back').disabled = at === 0;
      get('next').disabled = get('last').disabled = at === last;
      get('play').textContent = playing ? '\u275a\u275a' : '\u25b6';
      get('play').setAttribute('aria-label', playing ? 'pause' : 'play');
    };
    const jump = (k) => { at = Math.max(0, Math.min(last, k)); part = 0; wanted = null; tell(); draw(); };
    const stop = () => { playing = false; tell(); };
    // one frame of the movement towards 'wanted': forwards the turn grows, backwards it shrinks
    const frame = (time) => {
      const step = Math.min(0.2, (time - before) / (playing ? 600 : 350));
      before = time;
      if (wanted === null) { running = false; return; }
      if (wanted > at) part += step;
      else if (part > 0) part -= step;
      else { at -= 1; part = 1 - step; tell(); }
      if (part >= 1) { part = 0; at += 1; tell(); }
      part = Math.max(0, part);
      if (part === 0 && at === wanted) {
        wanted = playing && at < last ? at + 1 : null;
        if (wanted === null) stop();
      }
      draw();
      if (wanted !== null) requestAnimationFrame(frame);
      else running = false;
    };
    const go = (k) => {
      const target = Math.max(0, Math.min(last, k));
      if (still) { jump(target); return; }
      if (wanted !== null) jump(wanted);
      if (target === at) return;
      wanted = target;
      if (running) return;
      running = true;
      before = performance.now();
      requestAnimationFrame(frame);
    };
    const play = () => {
      if (playing) { playing = false; tell(); return; }
      if (at === last) jump(0);
      if (still) { jump(last); return; }
      playing = true;
      tell();
      if (wanted === null) go(at + 1);
    };
    const acts = {
      first: () => { stop(); jump(0); }, back: () => { stop(); go((wanted === null ? at : wanted) - 1); },
      play,
      next: () => { stop(); go((wanted === null ? at : wanted) + 1); }, last: () => { stop(); jump(last); },
    };
    for (const name in acts) get(name).addEventListener('click', acts[name]);
    slider.max = last;
    slider.addEventListener('input', () => {
      const k = Number(slider.value);  // stop() would set it back
      stop();
      jump(k);
    });
    let held = null;
    canvas.addEventListener('pointerdown', (event) => {
      held = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!held) return;
      yaw += (event.clientX - held[0]) * 0.01;
      pitch = Math.max(-1.5, Math.min(1.5, pitch + (event.clientY - held[1]) * 0.01));
      held = [event.clientX, event.clientY];
      draw();
    });
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => { held = null; });
    canvas.addEventListener('keydown', (event) => {
      const turns = {ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15]};
      if (event.key in turns) {
        yaw += turns[event.key][0];
        pitch = Math.max(-1.5, Math.min(1.5, pitch + turns[event.key][1]));
        draw();
      } else if (event.key === ' ' || event.key === 'Enter') play();
      else return;
      event.preventDefault();
    });
    const fit = () => {
      const side = Math.round((canvas.clientWidth || 400) * Math.min(window.devicePixelRatio || 1, 3));
      if (canvas.width !== side) { canvas.width = canvas.height = side; }
      draw();
    };
    view.classList.add('ready');
    tell();
    fit();
    if (window.ResizeObserver) new ResizeObserver(fit).observe(canvas);
    else window.addEventListener('resize', fit);
  };
  for (const view of document.querySelectorAll('.cube-player:not(.ready)')) start(view);
})();
