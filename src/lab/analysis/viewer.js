// Shows the games of the element `games`: a board to step through, the moves, and graphs over them. Text from the games is only ever
// set as text, never as markup.
'use strict';
(() => {
  const games = JSON.parse(document.getElementById('games').textContent).games;
  const viewer = document.getElementById('viewer');
  const PIECES = { k: '♚', q: '♛', r: '♜', b: '♝', n: '♞', p: '♟' };
  const SVG = 'http://www.w3.org/2000/svg';
  let game = games[0];
  let ply = 0;
  let flipped = false;
  let cursors = [];

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  }

  function drawing(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const board = drawing('svg', { viewBox: '0 0 808 808', class: 'board', role: 'img' });
  const bar = element('div', { class: 'bar' }, element('i'), element('i'), element('i'));
  const facts = element('div', { class: 'facts' });
  const moves = element('div', { class: 'moves', tabindex: '0' });
  const graphs = element('div', { class: 'figures' });
  const title = element('p', { class: 'players' });
  const chooser = element('select', { 'aria-label': 'game' });
  games.forEach((one, index) => chooser.append(element('option', { value: index }, one.title)));
  chooser.addEventListener('change', () => show(Number(chooser.value)));
  const button = (text, label, act) => {
    const made = element('button', { type: 'button', 'aria-label': label, title: label }, text);
    made.addEventListener('click', act);
    return made;
  };
  const buttons = element('div', { class: 'buttons' },
    button('|◀', 'first position', () => go(0)), button('◀', 'back', () => go(ply - 1)),
    button('▶', 'on', () => go(ply + 1)), button('▶|', 'last position', () => go(game.moves.length)),
    button('⇅', 'turn the board', () => { flipped = !flipped; go(ply); }));
  if (games.length > 1) viewer.append(chooser);
  viewer.append(title, element('div', { class: 'table-of-game' },
    element('div', { class: 'left' }, element('div', { class: 'board-row' }, bar, board), buttons, facts), moves), graphs);

  document.addEventListener('keydown', (event) => {
    if (event.target === chooser) return;
    const goal = { ArrowLeft: ply - 1, ArrowRight: ply + 1, Home: 0, End: game.moves.length }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    go(goal);
  });

  // The corner of a square's picture, from its name.
  function corner(square) {
    const [file, rank] = [square.charCodeAt(0) - 97, Number(square[1]) - 1];
    return flipped ? [4 + 100 * (7 - file), 4 + 100 * rank] : [4 + 100 * file, 4 + 100 * (7 - rank)];
  }

  function drawBoard(position, played) {
    board.replaceChildren();
    for (let i = 0; i < 64; i++) {
      const name = 'abcdefgh'[i % 8] + (1 + Math.floor(i / 8));
      const [x, y] = corner(name);
      const dark = (i + Math.floor(i / 8)) % 2 === 0;
      const isLast = played && (played.from === name || played.to === name);
      board.append(drawing('rect', { x, y, width: 100, height: 100, class: `${dark ? 'dark' : 'light'}${isLast ? ' last' : ''}` }));
      if (i % 8 === (flipped ? 7 : 0)) board.append(drawing('text', { x: x + 4, y: y + 20, class: 'name' }, name[1]));
      if (Math.floor(i / 8) === (flipped ? 7 : 0)) board.append(drawing('text', { x: x + 84, y: y + 96, class: 'name' }, name[0]));
    }
    position.board.split('/').forEach((row, index) => {
      let file = 0;
      for (const sign of row) {
        if (sign >= '1' && sign <= '8') { file += Number(sign); continue; }
        const [x, y] = corner('abcdefgh'[file++] + (8 - index));
        const color = sign === sign.toUpperCase() ? 'white' : 'black';
        board.append(drawing('text', { x: x + 50, y: y + 82, class: `piece ${color}` }, `${PIECES[sign.toLowerCase()]}\uFE0E`));
      }
    });
    if (position.best) {
      const [[x1, y1], [x2, y2]] = [corner(position.best.slice(0, 2)), corner(position.best.slice(2, 4))];
      const [dx, dy] = [x2 - x1, y2 - y1];
      const length = Math.hypot(dx, dy) || 1;
      const [ux, uy] = [dx / length, dy / length];
      const [ex, ey] = [x2 + 50 - 24 * ux, y2 + 50 - 24 * uy];
      board.append(drawing('path', {
        class: 'arrow',
        d: `M${x1 + 50 + 24 * ux} ${y1 + 50 + 24 * uy}L${ex} ${ey}`,
      }), drawing('path', {
        class: 'arrow-head',
        d: `M${ex + 22 * ux} ${ey + 22 * uy}L${ex - 18 * ux - 22 * uy} ${ey - 18 * uy + 22 * ux}L${ex - 18 * ux + 22 * uy} ${ey - 18 * uy - 22 * ux}Z`,
      }));
    }
  }

  const seconds = (ms) => (ms === null ? '–' : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`);
  const clock = (ms) => {
    const all = Math.max(0, Math.round(ms / 1000));
    return `${Math.floor(all / 3600)}:${String(Math.floor(all / 60) % 60).padStart(2, '0')}:${String(all % 60).padStart(2, '0')}`;
  };

  function drawFacts(position, played) {
    const row = (name, value) => element('div', {}, element('b', {}, name), ` ${value}`);
    facts.replaceChildren();
    const [win, draw, loss] = position.wdl.map((share) => (share / 10).toFixed(1));
    facts.append(row('evaluation', `${position.eval}: White wins ${win} %, draws ${draw} %, loses ${loss} %`));
    const really = `${(position.left / 2).toFixed(1)} were played`;
    facts.append(row('moves left', position.ml === null ? really : `${(position.ml / 2).toFixed(1)} expected, ${really}`));
    if (played && played.clock !== null) facts.append(row('clock', `${clock(played.clock)} after ${played.san}`));
    if (played && (played.used !== null || played.planned !== null)) {
      facts.append(row('time', `${seconds(played.used)}; the time manager: ${seconds(played.planned)}`));
    }
    position.lines.forEach((line) => facts.append(element('div', { class: 'line' }, element('b', {}, line.eval), ` ${line.text}`)));
  }

  function go(goal) {
    ply = Math.min(Math.max(goal, 0), game.moves.length);
    const [position, played] = [game.positions[ply], game.moves[ply - 1]];
    drawBoard(position, played);
    drawFacts(position, played);
    const order = flipped ? [0, 1, 2] : [2, 1, 0];
    order.forEach((of, place) => {
      bar.children[place].className = ['white', 'draw', 'black'][of];
      bar.children[place].style.flexGrow = position.wdl[of];
    });
    moves.querySelectorAll('button').forEach((one, index) => one.classList.toggle('now', index + 1 === ply));
    const now = moves.querySelector('.now');
    if (now) moves.scrollTop = now.offsetTop - moves.offsetTop - moves.clientHeight / 2;
    cursors.forEach((place) => place());
    document.body.dataset.ply = ply;
  }

  // A graph over the plies. Areas are stacked; lines have gaps where there is no value.
  function graph(name, unit, { areas = [], lines = [] }) {
    const [width, height, left, bottom, top] = [640, 230, 46, 24, 26];
    const count = Math.max(game.moves.length, 1);
    const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
    if (!areas.length && !values.length) return;
    const most = areas.length ? 100 : Math.max(...values, 1e-9);
    const step = [1, 2, 2.5, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10(most / 4))).find((n) => most / n <= 5);
    const limit = areas.length ? 100 : most;
    const x = (at) => left + ((width - left - 8) * at) / count;
    const y = (value) => height - bottom - ((height - bottom - top) * value) / limit;
    const svg = drawing('svg', { viewBox: `0 0 ${width} ${height}`, class: 'graph' });
    svg.append(drawing('text', { x: left, y: 14, class: 'title' }, `${name}, ${unit}`));
    let sums = new Array(count + 1).fill(0);
    areas.forEach(({ values: shares, color }) => {
      const upper = sums.map((sum, at) => sum + (shares[at] ?? 0));
      const edge = upper.map((value, at) => `${x(at)},${y(value)}`);
      const under = sums.map((value, at) => `${x(at)},${y(value)}`).reverse();
      svg.append(drawing('polygon', { points: [...edge, ...under].join(' '), class: `area ${color}` }));
      sums = upper;
    });
    for (let value = 0; value <= limit * 1.001; value += step) {
      svg.append(drawing('line', { x1: left, x2: width - 8, y1: y(value), y2: y(value), class: 'rule' }));
      svg.append(drawing('text', { x: left - 5, y: y(value) + 4, class: 'tick end' }, String(Number(value.toFixed(3)))));
    }
    const every = Math.max(1, Math.ceil(count / 2 / 8 / 5) * 5);
    for (let move = 0; move * 2 <= count; move += every) {
      svg.append(drawing('text', { x: x(move * 2), y: height - 8, class: 'tick middle' }, String(Math.floor(game.first / 2) + move)));
    }
    let legend = width - 8;
    [...lines].reverse().forEach(({ label, color }) => {
      const text = drawing('text', { x: legend, y: 14, class: `legend end ${color}` }, label);
      svg.append(text);
      legend -= 8.2 * label.length + 14;
    });
    lines.forEach(({ values: points, color }) => {
      let path = '';
      let isDown = false;
      points.forEach((value, at) => {
        if (value === null) return;
        path += `${isDown ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
        isDown = true;
      });
      svg.append(drawing('path', { d: path, class: `curve ${color}` }));
    });
    const cursor = drawing('line', { y1: top, y2: height - bottom, class: 'cursor' });
    svg.append(cursor);
    cursors.push(() => { cursor.setAttribute('x1', x(ply)); cursor.setAttribute('x2', x(ply)); });
    svg.addEventListener('click', (event) => {
      const box = svg.getBoundingClientRect();
      go(Math.round((((event.clientX - box.left) / box.width) * width - left) / ((width - left - 8) / count)));
    });
    graphs.append(element('figure', {}, svg));
  }

  function show(index) {
    game = games[index];
    cursors = [];
    title.textContent = `${game.title} (${game.moves.length} plies)`;
    moves.replaceChildren();
    game.moves.forEach((played, at) => {
      const one = element('button', { type: 'button', class: { '?!': 'inaccuracy', '?': 'mistake', '??': 'blunder' }[played.glyph] || '' }, played.san + played.glyph);
      one.addEventListener('click', () => go(at + 1));
      // A number stays with its move at the end of a line.
      const isNumbered = at === 0 || played.white;
      const number = element('span', { class: 'number' }, played.number);
      moves.append(isNumbered ? element('span', { class: 'pair' }, number, one) : one);
    });
    moves.append(element('span', { class: 'number' }, game.result));
    graphs.replaceChildren();
    const positions = game.positions;
    const share = (of) => positions.map((position) => position.wdl[of] / 10);
    graph('Black wins, draw, White wins', '%, from above', {
      areas: [{ values: share(0), color: 'white' }, { values: share(1), color: 'draw' }, { values: share(2), color: 'black' }],
    });
    const hasHead = positions.some((position, at) => position.ml !== null && at < positions.length - 1);
    graph('Moves left', 'full moves', {
      lines: [
        { label: 'played', color: 'truth', values: positions.map((position) => position.left / 2) },
        ...(hasHead ? [{ label: 'expected', color: 'one', values: positions.map((position) => (position.ml === null ? null : position.ml / 2)) }] : []),
      ],
    });
    // Of the moves of one side; a move's figure stands where the position after it does.
    const of = (isWhite, key) => [null, ...game.moves.map((played) => (played.white === isWhite && played[key] !== null ? played[key] / 1000 : null))];
    graph('Clock', 's', { lines: [{ label: 'White', color: 'one', values: of(true, 'clock') }, { label: 'Black', color: 'two', values: of(false, 'clock') }] });
    [[true, 'White'], [false, 'Black']].forEach(([isWhite, side]) => {
      graph(`${side}: time for a move`, 's', {
        lines: [{ label: 'used', color: isWhite ? 'one' : 'two', values: of(isWhite, 'used') }, { label: 'time manager', color: 'truth', values: of(isWhite, 'planned') }],
      });
    });
    go(0);
  }

  show(0);
})();
