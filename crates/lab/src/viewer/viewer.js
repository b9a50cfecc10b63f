// Shows the games of the element `games`: a board to step through, what is said of the moves, and graphs over them. Text from the games is
// only ever set as text, never as markup.
'use strict';
(() => {
  const { games, player: asked, live } = JSON.parse(document.getElementById('games').textContent);
  const SVG = 'http://www.w3.org/2000/svg';
  // Each piece on a square of 100: its outline, and lines within it. Drawn for this page.
  const PIECES = {
    p: ['M50 21a13 13 0 0 1 9 22c-3 3-2 4 4 6v6h-7c1 13 6 18 13 23v9H31v-9c7-5 12-10 13-23h-7v-6c6-2 7-3 4-6a13 13 0 0 1 9-22z', 'M44 55h12'],
    n: ['M40 21l-2-11 11 8c18 2 30 15 32 37l1 32H33c0-15 5-22 13-29 4-4 4-7 2-9-5 5-11 6-16 8l-7 7c-5 2-11-1-10-7l11-18c1-8 6-14 14-18z', 'M39 34h.1M60 32c9 6 13 15 13 28'],
    b: ['M50 10a6 6 0 0 1 4 11c10 7 17 17 17 27 0 7-4 12-9 15l2 8h7v16H29V71h7l2-8c-5-3-9-8-9-15 0-10 7-20 17-27a6 6 0 0 1 4-11z', 'M50 34v18M41 43h18M37 71h26'],
    r: ['M27 18h11v8h7v-8h10v8h7v-8h11v17l-9 8v25l7 6v13H29V74l7-6V43l-9-8z', 'M36 43h28M36 68h28'],
    q: ['M18 37L31 60 33 24 44 53 50 18 56 53 67 24 69 60 82 37 74 72v15H26V72z', 'M27 72h46M18 34h.1M33 21h.1M50 15h.1M67 21h.1M82 34h.1'],
    k: ['M46 9h8v6h7v8h-7v8c16-6 30 2 30 15 0 10-8 16-12 23v18H28V69c-4-7-12-13-12-23 0-13 14-21 30-15v-8h-7v-8h7z', 'M28 71h44M50 36v30'],
  };
  const NAMES = { k: 'king', q: 'queen', r: 'rook', b: 'bishop', n: 'knight', p: 'pawn' };
  const KINDS = { '?!': 'inaccuracy', '?': 'mistake', '??': 'blunder' };
  // On graphs the marks differ by shape too: a dot, a triangle, a square.
  const SHAPES = { '?!': 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z', '?': 'M0-7L7 6H-7z', '??': 'M-5-5h10v10H-5z' };
  const FILES = 'abcdefgh';
  const SQUARES = [...FILES].flatMap((file) => [1, 2, 3, 4, 5, 6, 7, 8].map((rank) => file + rank));
  const isWhite = (piece) => piece < 'a';

  function make(name, attributes, ...children) {
    const made = document.createElement(name);
    Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
    made.append(...children);
    return made;
  }

  function draw(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes || {}).forEach(([key, value]) => made.setAttribute(key, value));
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  // A key of a legend: drawn as on the graph, as backgrounds are left out in print and in high contrast.
  const SWATCHES = { one: 'bar-of one', two: 'bar-of two', white: 'area white', draw: 'area draw', black: 'area black', best: 'arrow-head best', better: 'arrow-head better' };
  function swatch(kind) {
    const svg = draw(null, 'svg', { viewBox: '-8 -8 16 16', class: 'swatch', 'aria-hidden': 'true' });
    const mark = Object.keys(KINDS).find((one) => KINDS[one] === kind);
    if (mark) draw(svg, 'path', { d: SHAPES[mark], class: `dot ${kind}` });
    else if (kind === 'plan') draw(svg, 'line', { x1: -7, x2: 7, y1: 0, y2: 0, class: 'plan' });
    else draw(svg, 'rect', { x: -6, y: -6, width: 12, height: 12, class: SWATCHES[kind] });
    return svg;
  }

  // A button with a text is called so. One with a picture alone needs the label for its name.
  function button(content, label, act) {
    const made = make('button', { type: 'button', ...(label ? { title: label } : {}), ...(typeof content === 'string' ? {} : { 'aria-label': label }) }, content);
    made.addEventListener('click', act);
    return made;
  }

  function icon(path) {
    const svg = draw(null, 'svg', { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' });
    draw(svg, 'path', { d: path });
    return svg;
  }

  // A position from its FEN: pieces by square, rooks that may castle by square, and the other fields.
  function position(fen) {
    const [board, turn, castling, passant, half, full] = fen.split(' ');
    const pieces = {};
    board.split('/').forEach((row, index) => {
      let file = 0;
      for (const sign of row) {
        if (sign >= '1' && sign <= '8') file += Number(sign);
        else pieces[FILES[file++] + (8 - index)] = sign;
      }
    });
    const rights = {};
    for (const letter of castling.replace('-', '')) {
      const [rank, rook] = isWhite(letter) ? ['1', 'R'] : ['8', 'r'];
      const files = letter.toLowerCase() === 'k' ? [...FILES].reverse() : letter.toLowerCase() === 'q' ? [...FILES] : [letter.toLowerCase()];
      rights[files.find((file) => pieces[file + rank] === rook) + rank] = letter;
    }
    return { pieces, turn, rights, passant, half: Number(half), full: Number(full), played: [] };
  }

  // The position after a move, which is legal. Castling is the king that takes its own rook.
  function after(before, move) {
    const [from, to, promotion] = [move.slice(0, 2), move.slice(2, 4), move[4]];
    const [pieces, rights] = [{ ...before.pieces }, { ...before.rights }];
    const [piece, taken] = [pieces[from], pieces[to]];
    const white = before.turn === 'w';
    const next = { pieces, rights, turn: white ? 'b' : 'w', passant: '-', half: before.half + 1, full: before.full + (white ? 0 : 1), played: [from, to] };
    delete pieces[from];
    delete rights[from];
    delete rights[to];
    if (piece.toLowerCase() === 'k') Object.keys(rights).filter((square) => isWhite(rights[square]) === white).forEach((square) => delete rights[square]);
    if (taken && isWhite(taken) === white) {
      const [king, rook] = to > from ? ['g', 'f'] : ['c', 'd'];
      delete pieces[to];
      pieces[king + to[1]] = piece;
      pieces[rook + to[1]] = taken;
      next.played[1] = king + to[1];
      return next;
    }
    const isPawn = piece.toLowerCase() === 'p';
    if (taken || isPawn) next.half = 0;
    if (isPawn && from[0] !== to[0] && !taken) delete pieces[to[0] + from[1]];
    if (isPawn && Math.abs(to[1] - from[1]) === 2) {
      const beside = [-1, 1].map((step) => pieces[FILES[FILES.indexOf(to[0]) + step] + to[1]]);
      if (beside.includes(white ? 'p' : 'P')) next.passant = from[0] + (Number(from[1]) + Number(to[1])) / 2;
    }
    pieces[to] = promotion ? (white ? promotion.toUpperCase() : promotion) : piece;
    return next;
  }

  // Whether a piece takes on a square, checks left aside.
  function reaches(pieces, from, to) {
    const [fx, tx] = [FILES.indexOf(from[0]), FILES.indexOf(to[0])];
    const [dx, dy, kind] = [tx - fx, to[1] - from[1], pieces[from].toLowerCase()];
    const [x, y] = [Math.abs(dx), Math.abs(dy)];
    if (kind === 'n') return x * y === 2;
    if (kind === 'k') return Math.max(x, y) === 1;
    if (kind === 'p') return x === 1 && dy === (isWhite(pieces[from]) ? 1 : -1);
    const isLine = (x * y === 0 && kind !== 'b') || (x === y && kind !== 'r');
    if (x + y === 0 || !isLine) return false;
    for (let i = 1; i < Math.max(x, y); i++) if (pieces[FILES[fx + Math.sign(dx) * i] + (Number(from[1]) + Math.sign(dy) * i)]) return false;
    return true;
  }

  const isAttacked = (pieces, square, byWhite) => Object.keys(pieces).some((from) => isWhite(pieces[from]) === byWhite && reaches(pieces, from, square));
  const owns = (at, square) => Boolean(at.pieces[square]) && isWhite(at.pieces[square]) === (at.turn === 'w');

  // Whether the king may castle with the rook of a square.
  function castles(at, king, rook) {
    const isShort = rook > king;
    const files = (a, b) => [...FILES].filter((file) => file >= (a < b ? a : b) && file <= (a < b ? b : a)).map((file) => file + king[1]);
    const way = files(king[0], isShort ? 'g' : 'c');
    const isFree = (square) => square === king || square === rook || !at.pieces[square];
    return Boolean(at.rights[rook]) && [...way, ...files(rook[0], isShort ? 'f' : 'd'), ...files(king[0], rook[0])].every(isFree) && !way.some((square) => isAttacked(at.pieces, square, at.turn === 'b'));
  }

  // The legal move from a square to another, or null. Pawns become queens.
  function legalMove(at, from, to) {
    if (!owns(at, from)) return null;
    const [white, taken, kind] = [at.turn === 'w', at.pieces[to], at.pieces[from].toLowerCase()];
    const [dx, dy] = [FILES.indexOf(to[0]) - FILES.indexOf(from[0]), to[1] - from[1]];
    if (kind === 'k' && (owns(at, to) || (Math.abs(dx) === 2 && dy === 0))) {
      const rook = owns(at, to) ? to : Object.keys(at.rights).find((square) => square[1] === from[1] && (square > from) === (to > from));
      return rook && castles(at, from, rook) ? from + rook : null;
    }
    const ahead = white ? 1 : -1;
    const isPush = !taken && dx === 0 && (dy === ahead || (dy === 2 * ahead && from[1] === (white ? '2' : '7') && !at.pieces[from[0] + (Number(from[1]) + ahead)]));
    const isReached = reaches(at.pieces, from, to) && (kind !== 'p' || taken || to === at.passant);
    if (owns(at, to) || !(isReached || (kind === 'p' && isPush))) return null;
    const move = from + to + (kind === 'p' && '18'.includes(to[1]) ? 'q' : '');
    const { pieces } = after(at, move);
    const king = Object.keys(pieces).find((square) => pieces[square] === (white ? 'K' : 'k'));
    return isAttacked(pieces, king, !white) ? null : move;
  }

  // The name of a legal move, without a sign for check.
  function sanOf(at, move) {
    const [from, to, promotion] = [move.slice(0, 2), move.slice(2, 4), move[4]];
    const piece = at.pieces[from];
    if (owns(at, to)) return to > from ? 'O-O' : 'O-O-O';
    const takes = at.pieces[to] || (piece.toLowerCase() === 'p' && from[0] !== to[0]) ? 'x' : '';
    if (piece.toLowerCase() === 'p') return (takes ? from[0] + takes : '') + to + (promotion ? `=${promotion.toUpperCase()}` : '');
    const rival = Object.keys(at.pieces).some((square) => square !== from && at.pieces[square] === piece && legalMove(at, square, to));
    return piece.toUpperCase() + (rival ? from : '') + takes + to;
  }

  function fenOf({ pieces, turn, rights, passant, half, full }) {
    const rows = [8, 7, 6, 5, 4, 3, 2, 1].map((rank) => [...FILES].map((file) => pieces[file + rank] || '1').join('').replace(/1+/g, (empty) => empty.length));
    const letters = Object.values(rights).sort((a, b) => isWhite(b) - isWhite(a) || a.localeCompare(b));
    return [rows.join('/'), turn, letters.join('') || '-', passant, half, full].join(' ');
  }

  // The moves of a line as [squares, SAN], its positions, and its moves' numbers, from a position.
  function lineFrom(start, text) {
    const words = text.split(' ').filter(Boolean);
    const line = { moves: [], positions: [start], numbers: [] };
    for (let at = 0; at < words.length; at += 2) {
      const last = line.positions[line.positions.length - 1];
      const isNumbered = last.turn === 'w' || at === 0;
      line.numbers.push(isNumbered ? `${last.full}${last.turn === 'w' ? '.' : '…'}` : '');
      line.moves.push([words[at], words[at + 1]]);
      line.positions.push(after(last, words[at]));
    }
    return line;
  }

  // An evaluation in pawns with its sign.
  const signed = (evaluation) => (/^\d/.test(evaluation) ? `+${evaluation}` : evaluation.replace('-', '−'));
  // A number stays with its unit at the end of a row.
  const kept = (text) => text.replace(/(\d) (%|s|min|h)(?![a-z])/g, '$1\u00a0$2');
  const seconds = (ms) => (ms < 950 ? `${(ms / 1000).toFixed(2)} s` : ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : ms < 59500 ? `${Math.round(ms / 1000)} s` : `${clock(ms)}`);
  function clock(ms) {
    const all = Math.max(0, ms < 10000 ? Math.floor(ms / 100) / 10 : Math.floor(ms / 1000));
    const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
    const rest = (all % 60).toFixed(ms < 10000 ? 1 : 0).padStart(ms < 10000 ? 4 : 2, '0');
    return hours ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
  }

  let shown = 0;
  let game = null;
  let pgn = '';
  let main = null;
  let ply = 0;
  // A line that is clicked through: `lineFrom`, the ply it starts at, and how many of its moves are made.
  let aside = null;
  let flipped = false;
  // The square of a piece that is to be moved.
  let chosen = null;
  let hasLetters = true;
  let cursors = [];
  let paintings = [];

  const viewer = document.getElementById('viewer');
  const board = draw(null, 'svg', { viewBox: '0 0 800 800', class: 'board', role: 'img' });
  const bar = draw(null, 'svg', { viewBox: '0 0 10 1000', preserveAspectRatio: 'none' });
  const players = [make('div', { class: 'player' }), make('div', { class: 'player' })];
  const said = make('div', { class: 'said', 'aria-live': 'polite' });
  const lines = make('div', { class: 'lines' });
  const moves = make('div', { class: 'moves', role: 'group', 'aria-label': 'moves' });
  const figures = make('table', { class: 'figures-of-game' });
  const turns = make('ul', { class: 'remarks' });
  const time = make('section', { class: 'time' });
  const facts = make('p', { class: 'facts' });
  const mainGraphs = make('div');
  const moreGraphs = make('div', { class: 'figures' });
  const list = make('section', { class: 'all-games' });
  const told = make('span', { class: 'told', role: 'status' });

  // A live board: its server searches the position that is shown, and answers as `zeitnot serve` does.
  const answers = new Map();
  let asking = null;
  // Chosen moves of a position, to be searched alone.
  let only = { place: '', moves: [] };
  const searched = make('div', { class: 'table searched', tabindex: '0', role: 'group', 'aria-label': 'moves that were searched' });
  const effort = make('p', { class: 'told' });
  const heard = make('p', { class: 'told', role: 'status' });
  const limits = make('select', {}, ...[[1, 'the network alone'], [100, '100 visits'], [1000, '1,000 visits'], [10000, '10,000 visits'], [100000, '100,000 visits'], [4e9, 'any number of visits']].map(([visits, name]) => make('option', { value: visits }, name)));
  limits.value = '10000';
  limits.addEventListener('change', () => ask());
  const runs = make('input', { type: 'checkbox' });
  runs.checked = true;
  runs.addEventListener('change', () => ask());
  const typed = make('input', { autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', size: '8' });
  const entry = make('form', { class: 'entry' }, make('label', {}, 'Move ', typed), ' ', make('button', {}, 'Play'));
  entry.addEventListener('submit', (event) => {
    event.preventDefault();
    const move = typedMove(current(), typed.value);
    heard.textContent = move ? '' : `${typed.value}: no legal move, or more than one. Type it as in Nf3 or g1f3.`;
    if (!move) return typed.select();
    typed.value = '';
    return tryMove(move);
  });
  const search = make('section', { class: 'search' }, make('h2', {}, 'Search'),
    make('p', { class: 'choice' }, make('label', {}, runs, ' search '), make('label', {}, limits, ' a position')), effort, searched);

  // A game against the engine from the position that is shown. `rival` has the engine's side, both clocks in ms as they were when the
  // one that runs was started (`since`), what the engine tells while it thinks, and what it told of its moves.
  let rival = null;
  const choose = (...names) => make('select', {}, ...names.map((name) => make('option', {}, name)));
  const [ownSide, level] = [choose('White', 'Black'), choose('full strength', ...[1000, 1200, 1400, 1600, 1800, 2000].map((elo) => `Elo ${elo}`), ...['1 node', '100 nodes', '1000 nodes', '10000 nodes'])];
  const presets = make('datalist', { id: 'controls' }, ...['1+0', '1+1', '3+2', '5+3', '10+5', '15+10', '30+20'].map((value) => make('option', { value })));
  const control = make('input', { list: 'controls', size: '6', value: '3+2' });
  const ponders = make('input', { type: 'checkbox' });
  const stands = make('p', { class: 'told', role: 'status' });
  const mind = make('div', { class: 'mind' });
  const thoughts = make('div', { class: 'table searched', tabindex: '0', role: 'group', 'aria-label': 'the engine’s use of its clock' });
  const inGame = [button('Take back', '', takeBack), button('Offer a draw', '', offerDraw), button('Resign', '', () => endGame(rival.side === 'w' ? '1-0' : '0-1', 'resignation'))];
  const play = make('section', { class: 'search' }, make('h2', {}, 'Play'), presets,
    make('p', { class: 'choice' }, make('label', {}, 'Your side ', ownSide), make('label', {}, 'Minutes+seconds a move ', control), make('label', {}, 'Level ', level), make('label', {}, ponders, ' it thinks on your time')),
    make('div', { class: 'buttons' }, button('Play the engine', '', startGame), ...inGame),
    make('div', { class: 'buttons' }, button('Review this game', '', review), button('Copy PGN', '', () => copy(pgnOfPlay(), 'PGN')), button('Download PGN', '', () => save('game.pgn', pgnOfPlay(), 'application/x-chess-pgn'))), stands, mind, thoughts);
  const REASONS = {
    budget: 'its time for the move was up', 'target-nodes': 'it had the nodes that it wanted', nodes: 'it had the nodes of its level', settled: 'more time would change little', 'smart-pruning': 'no other move could overtake the best',
    'only-move': 'there is one legal move', 'proven-win': 'the win is proven', 'others-lose': 'all other moves lose', 'proven-result': 'the result is proven', mate: 'a mate was found', deadline: 'its time for the move was up', 'kld-gain': 'the visits changed no more',
  };
  const TAKEN_BACK = 'moves were taken back';
  const isPlaying = () => Boolean(rival && !rival.result && rival.game === game);
  const last = () => main.positions[main.positions.length - 1];
  const leftOf = (side) => rival.clocks[side] - (isPlaying() && rival.since && last().turn === side ? performance.now() - rival.since : 0);

  function startGame() {
    const [, minutes, bonus] = control.value.match(/^(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?$/) || [];
    if (!(minutes > 0)) {
      stands.textContent = `${control.value}: type minutes+seconds, as in 3+2.`;
      return control.select();
    }
    if (rival) rival.abort.abort();
    const [base, color, { fen }] = [60000 * minutes, ownSide.value === 'White' ? 0 : 1, game];
    const made = madeMoves();
    const names = [{ name: 'You' }, { name: level.selectedIndex ? `Zeitnot, ${level.value}` : 'Zeitnot' }];
    // A board without a game gives its place to the game.
    const place = made.length ? games.length : shown;
    const own = { number: place + 1, players: color ? names.reverse() : names, result: '*', facts: [`${control.value} against the engine`], fen, moves: made.flat().join(' '), positions: [{}, ...made.map(() => ({}))], plies: made.map(() => ({})), base, low: base / 8, figures: [], turns: [] };
    rival = { game: own, side: color ? 'w' : 'b', color: 1 - color, clocks: { w: base, b: base }, inc: 1000 * (bonus || 0), control: `${60 * minutes}+${bonus || 0}`, since: performance.now(), thought: {}, told: [], result: '', start: made.length, abort: new AbortController() };
    games[place] = { game: own, pgn: '' };
    [runs.checked, flipped, stands.textContent] = [false, color === 1, ''];
    drawThoughts();
    game = null;
    showList();
    open(place, made.length);
    if (last().turn === rival.side) reply();
    return undefined;
  }

  function endGame(result, why) {
    if (!isPlaying()) return;
    rival.clocks[last().turn] = Math.max(0, leftOf(last().turn));
    [rival.result, game.result, game.end] = [result, result, why];
    game.facts.push(why);
    stands.textContent = `${result.replaceAll('1/2', '½')}, by ${why}.`;
    rival.abort.abort();
    runs.checked = true;
    drawThoughts();
    showList();
    open(shown, game.plies.length);
  }

  // Makes a move of the game: the clock of its side stops, and the other's runs.
  function moved(move, said = {}) {
    const [before, used] = [last(), performance.now() - rival.since];
    rival.clocks[before.turn] += rival.inc - used;
    rival.since = performance.now();
    game.moves = `${game.moves} ${move} ${sanOf(before, move)}`.trim();
    game.positions.push({});
    game.plies.push({ clock: rival.clocks[before.turn], used, ...said });
    stands.textContent = '';
    open(shown, game.plies.length);
    const at = last();
    const squares = Object.keys(at.pieces);
    const canMove = squares.some((from) => SQUARES.some((to) => legalMove(at, from, to)));
    const isChecked = isAttacked(at.pieces, squares.find((square) => at.pieces[square] === (at.turn === 'w' ? 'K' : 'k')), before.turn === 'w');
    const same = (one) => fenOf(one).split(' ').slice(0, 4).join(' ');
    if (!canMove) endGame(isChecked ? (before.turn === 'w' ? '1-0' : '0-1') : '1/2-1/2', isChecked ? 'checkmate' : 'stalemate');
    else if (at.half >= 100) endGame('1/2-1/2', 'fifty moves');
    else if (main.positions.filter((one) => same(one) === same(at)).length >= 3) endGame('1/2-1/2', 'repetition');
    else if (at.turn === rival.side) reply();
  }

  // Reads a response line by line, as JSON.
  async function listen(path, body, signal, act) {
    const response = await fetch(path, { method: 'POST', body, signal });
    if (!response.ok) throw new Error(await response.text());
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const whole = (rest + part.value).split('\n');
      rest = whole.pop();
      whole.filter(Boolean).map((line) => JSON.parse(line)).forEach(act);
    }
  }

  // Asks for the engine's move. Its clock waits while the program does not answer.
  async function reply() {
    const [own, from] = [rival, last()];
    const [kind, number] = [level.value.startsWith('Elo') ? 'elo' : 'nodes', Number((level.value.match(/\d+/) || [])[0])];
    const turn = { fen: game.fen, moves: main.moves.map(([move]) => move), time_ms: leftOf(own.side), inc_ms: own.inc, ponder: ponders.checked, ...(number ? { [kind]: number } : {}) };
    own.abort.abort();
    const abort = new AbortController();
    Object.assign(own, { abort, thought: { clock: turn.time_ms }, since: own.since || performance.now() });
    let hasMoved = false;
    try {
      await listen('play', JSON.stringify(turn), abort.signal, (line) => {
        if (line.error) throw new Error(line.error);
        if (line.note) stands.textContent = line.note;
        if (line.move && !hasMoved) {
          hasMoved = true;
          answered(own, from, line);
        } else if (!hasMoved) {
          Object.assign(own.thought, line);
          drawThoughts();
        }
      });
      if (!hasMoved) throw new Error('it ended');
    } catch (error) {
      if (abort.signal.aborted || hasMoved) return;
      own.clocks[own.side] = leftOf(own.side);
      own.since = 0;
      stands.textContent = `No move (${error.message}). Does zeitnot board still run? The clock waits, and it is asked again.`;
      setTimeout(() => { if (own === rival && isPlaying() && !abort.signal.aborted) reply(); }, 2000);
    }
  }

  // The engine's move, with what it thought of the position before it.
  function answered(own, from, { move: text }) {
    const { thought } = own;
    const { found, plan } = thought;
    const move = ownMove(from, text);
    if (found && found.wdl) Object.assign(game.positions[game.plies.length], wdlOf(from, found.wdl), { ml: found.plies_left ?? undefined, legacy: 2 * thought.legacy });
    own.told.push({ ...thought, ply: game.plies.length, name: `${from.full}${from.turn === 'w' ? '.' : '…'}${sanOf(from, move)}` });
    const pawns = found && (from.turn === 'w' ? 1 : -1) * (found.mate || found.centipawns / 100);
    moved(move, { ...(plan ? { planned: plan.budget_ms } : {}), ...(found ? { pawns: found.mate ? `#${pawns}` : pawns.toFixed(2) } : {}) });
    drawThoughts();
  }

  function takeBack() {
    if (!isPlaying()) return;
    const count = game.plies.length - (last().turn === rival.side ? 1 : 2);
    if (count < rival.start) return;
    rival.abort.abort();
    [game.positions.length, game.plies.length] = [count + 1, count];
    game.moves = main.moves.slice(0, count).flat().join(' ');
    main = lineFrom(position(game.fen), game.moves);
    const before = (side) => game.plies.filter(({ clock: left }, at) => left !== undefined && main.positions[at].turn === side).pop();
    ['w', 'b'].forEach((side) => { rival.clocks[side] = (before(side) || { clock: game.base }).clock; });
    rival.since = performance.now();
    rival.told = rival.told.filter(({ ply: at }) => at < count);
    // Whoever reads the game later knows.
    if (!game.facts.includes(TAKEN_BACK)) game.facts.push(TAKEN_BACK);
    drawThoughts();
    open(shown, count);
  }

  // It agrees once the game has been played for a while, if it does not stand better.
  function offerDraw() {
    if (!isPlaying()) return;
    const { found } = rival.told[rival.told.length - 1] || {};
    if (found && found.wdl && last().full > 20 && found.wdl[0] + found.wdl[1] / 2 <= 0.5) endGame('1/2-1/2', 'agreement');
    else stands.textContent = 'Zeitnot plays on.';
  }

  // The plan while it thinks, and what became of it, newest first.
  function drawThoughts() {
    const { thought, told: before } = rival;
    const isThinking = isPlaying() && last().turn === rival.side && thought.found;
    const { plan, found } = thought;
    const gauge = (value, max) => make('progress', { value, max, 'aria-hidden': 'true' });
    const line = (...parts) => make('p', {}, ...parts);
    mind.replaceChildren(...(isThinking ? [
      ...(plan ? [line(`Plan: ${seconds(plan.budget_ms)} of ${clock(thought.clock)} (${((100 * plan.budget_ms) / thought.clock).toFixed(1)} %)${plan.target_nodes === null ? '' : `, ${plan.target_nodes.toFixed(0)} new nodes`}${plan.reused_nodes ? `, ${plan.reused_nodes.toFixed(0)} are there already` : ''}`),
        line(gauge(thought.used_ms, plan.budget_ms), ` used ${seconds(thought.used_ms)}, ${thought.nodes} nodes`)] : []),
      ...(thought.decisive_lead > 0 ? [line(gauge(thought.lead, thought.decisive_lead), ` the best move leads by ${thought.lead} visits, with ${thought.decisive_lead} none can overtake it`)] : []),
      line(`Moves left: ${found.plies_left === null ? 'unknown to the network' : `${(found.plies_left / 2).toFixed(0)} by the network`}, ${thought.legacy.toFixed(0)} by the legacy curve${plan && plan.moves_left !== null ? `, ${plan.moves_left.toFixed(0)} in the plan${plan.moves_left_source ? ` (${plan.moves_left_source})` : ''}` : ''}`),
    ] : []));
    const heads = ['Move', 'Clock', 'Plan', 'Used', 'Nodes', 'of them reused', 'Lead', 'Moves left', 'Legacy', 'It stopped, as'];
    const rows = before.map(({ name, clock: left, used_ms: used, nodes, lead, legacy, reason, plan: planned, found: last1 }) => [name, clock(left), planned ? seconds(planned.budget_ms) : '', used === undefined ? '' : seconds(used), nodes === undefined ? '' : String(nodes),
      planned && planned.reused_nodes !== null ? planned.reused_nodes.toFixed(0) : '', lead === undefined ? '' : String(lead), last1 && last1.plies_left !== null ? (last1.plies_left / 2).toFixed(0) : '', legacy === undefined ? '' : legacy.toFixed(0), REASONS[reason] || reason || '']);
    thoughts.replaceChildren(...(rows.length ? dataTable('the engine’s use of its clock', heads.map((name) => make('th', { scope: 'col' }, name)), heads, rows.reverse()).childNodes : []));
  }

  // White's win, draw and loss in permille, and its chances in percent, of those of the side to move.
  function wdlOf(at, shares) {
    const [w, d, l] = at.turn === 'w' ? shares : [...shares].reverse();
    return { wdl: [w, d, l].map((share) => 1000 * share), win: 100 * (w + d / 2) };
  }

  // The moves to the position that is shown, as [squares, SAN].
  const madeMoves = () => [...main.moves.slice(0, aside ? aside.at : ply), ...(aside ? aside.line.moves.slice(0, aside.made) : [])];

  // The game that is shown, with the line that is shown, and with the clocks and evaluations of a game that was played here.
  function pgnOfPlay() {
    const stamp = (ms) => { const all = Math.max(0, ms / 1000); return `${Math.floor(all / 3600)}:${String(Math.floor(all / 60) % 60).padStart(2, '0')}:${(all % 60).toFixed(1).padStart(4, '0')}`; };
    const own = rival && rival.game === game ? rival : null;
    const [white, black] = game.players.map(({ name }) => name.replaceAll('"', "'"));
    const tags = { ...(own ? { Event: game.facts.join(', ') } : {}), White: white, Black: black, Result: game.result, ...(own ? { TimeControl: own.control, ...(game.end ? { Termination: game.end } : {}) } : {}), SetUp: '1', FEN: game.fen };
    const words = [];
    let at = main.positions[0];
    const all = aside ? [...main.moves.slice(0, aside.at), ...aside.line.moves] : main.moves;
    all.forEach(([move, san], index) => {
      const { clock: left, pawns } = (!aside || index < aside.at ? game.plies[index] : {});
      const said = [...(pawns === undefined ? [] : [`[%eval ${pawns}]`]), ...(left === undefined ? [] : [`[%clk ${stamp(left)}]`])];
      words.push(`${at.turn === 'w' ? `${at.full}. ` : index === 0 || said.length ? `${at.full}... ` : ''}${san}${said.length ? ` { ${said.join(' ')} }` : ''}`);
      at = after(at, move);
    });
    return `${Object.entries(tags).map(([name, value]) => `[${name} "${value}"]\n`).join('')}\n${[...words, tags.Result].join(' ')}\n`;
  }

  // Has the game analysed as `zeitnot analyse` does. The page of it opens in another tab.
  async function review() {
    stands.textContent = 'The game is analysed …';
    try {
      await listen('review', pgnOfPlay(), undefined, ({ error, done, of, page }) => {
        if (error) throw new Error(error);
        if (page === undefined) stands.textContent = `The game is analysed: ${done} of ${of} positions.`;
        else stands.replaceChildren(make('a', { href: page, target: '_blank' }, 'Open the review'));
      });
      const link = stands.querySelector('a');
      if (link) link.click();
    } catch (error) {
      stands.textContent = `No review: ${error.message}.`;
    }
  }

  if (live) {
    setInterval(() => {
      if (!isPlaying()) return;
      drawPlayers();
      if (leftOf(last().turn) <= 0) endGame(last().turn === 'w' ? '0-1' : '1-0', 'time forfeit');
    }, 100);
    const tabs = new BroadcastChannel(location.pathname);
    tabs.onmessage = ({ data }) => {
      if (data === 'opened') tabs.postMessage('known');
      else heard.textContent = 'This board is open in another tab too. Both ask one engine, and each has its own game.';
    };
    tabs.postMessage('opened');
  }

  // The squares of a move as the page has them, from UCI's.
  function ownMove(at, move) {
    const own = legalMove(at, move.slice(0, 2), move.slice(2, 4));
    return own && own.slice(0, 4) + (move[4] || '');
  }

  // The legal move that a text means, in SAN or by its squares, or null.
  function typedMove(at, text) {
    const wanted = text.replace(/[+#!?\s]/g, '').replace(/0/g, 'O');
    if (ownMove(at, wanted)) return ownMove(at, wanted);
    const all = SQUARES.flatMap((from) => SQUARES.map((to) => legalMove(at, from, to)).filter(Boolean));
    // Castling has two targets.
    const moves = [...new Set(all.flatMap((move) => (move[4] ? [...'qrbn'].map((piece) => move.slice(0, 4) + piece) : [move])))];
    const means = (move) => {
      const [piece, from, to] = [at.pieces[move.slice(0, 2)].toUpperCase(), move.slice(0, 2), move.slice(2, 4)];
      return sanOf(at, move) === wanted || (piece !== 'P' && !owns(at, to) && new RegExp(`^${piece}${from[0]}?${from[1]}?x?${to}$`).test(wanted));
    };
    const meant = moves.filter(means);
    return meant.length === 1 ? meant[0] : null;
  }

  // What is asked of the position that is shown.
  function query() {
    const made = madeMoves().map(([move]) => move);
    const place = `${game.fen} ${made.join(' ')}`;
    if (only.place !== place) only = { place, moves: [] };
    return { id: 1, fen: game.fen, moves: made, chess960: true, nodes: Number(limits.value), report_every: 250, ...(only.moves.length ? { searchmoves: only.moves } : {}) };
  }

  const keyOf = ({ fen, moves: made, searchmoves }) => `${fen} ${made.join(' ')} ${searchmoves || ''}`;

  // Has the position searched, unless it was, as far as is wanted.
  async function ask() {
    const body = query();
    const wanted = runs.checked ? JSON.stringify(body) : '';
    drawFound();
    if (asking && asking.wanted === wanted) return;
    if (asking) asking.abort.abort();
    asking = null;
    const known = answers.get(keyOf(body));
    if (!wanted || (known && known.final && (known.visits >= body.nodes || !known.moves.length))) return;
    const own = { wanted, abort: new AbortController() };
    asking = own;
    heard.textContent = '';
    try {
      await listen('search', `${wanted}\n`, own.abort.signal, (answer) => take(body, answer));
    } catch (error) {
      if (!own.abort.signal.aborted) {
        heard.textContent = `No answer (${error.message}). Does zeitnot board still run? It is asked again.`;
        setTimeout(ask, 2000);
      }
    }
    if (asking === own) asking = null;
  }

  function take(body, answer) {
    if (answer.error) heard.textContent = answer.error;
    if (answer.error || !answer.moves) return;
    const known = answers.get(keyOf(body));
    if (!known || answer.visits === undefined || answer.visits >= known.visits) answers.set(keyOf(body), answer);
    const place = main.moves.every(([move], at) => at >= body.moves.length || move === body.moves[at]) && game.positions[body.moves.length];
    // Chosen moves say nothing of the position.
    if (answer.wdl && place && !body.searchmoves) {
      Object.assign(place, wdlOf(main.positions[body.moves.length], answer.wdl), { ml: answer.plies_left ?? undefined });
      if (answer.final) drawGraphs();
    }
    if (keyOf(body) === keyOf(query())) drawFound();
  }

  // What was found of the position that is shown, as far as it was searched.
  function drawFound() {
    const [at, answer] = [current(), answers.get(keyOf(query()))];
    const focused = searched.contains(document.activeElement) && document.activeElement.dataset.move;
    searched.replaceChildren();
    effort.textContent = '';
    if (!answer) return undefined;
    if (!answer.moves.length) {
      effort.textContent = answer.reason || '';
      return undefined;
    }
    effort.textContent = `${answer.visits} visits, ${answer.nps} a second, ${answer.eps} evaluations a second in batches of ${answer.batch.toFixed(1)}, ${(100 * answer.cached).toFixed(0)} % from the cache, depth ${answer.depth}/${answer.seldepth}, ${seconds(answer.time_ms)}${answer.tbhits ? `, ${answer.tbhits} tablebase hits` : ''}${answer.final ? '' : ' …'}`;
    if (only.moves.length) effort.append(' ', button('Search all moves', '', () => { only.moves = []; show(); }));
    if (answer.wdl) drawBar(wdlOf(at, answer.wdl).wdl);
    const percent = (share) => (share === null || share === undefined ? '' : (100 * share).toFixed(1));
    const heads = ['Move', 'Visits', '%', 'Policy, %', 'Chances, %', 'Draw, %', 'Moves left', 'Only', 'Line'];
    const all = answer.moves.reduce((sum, { visits }) => sum + visits, 0);
    const rows = answer.moves.map((one) => {
      const own = ownMove(at, one.move);
      const play = button(sanOf(at, own), '', () => tryMove(own));
      play.dataset.move = own;
      const alone = make('input', { type: 'checkbox', 'aria-label': `search ${sanOf(at, own)} and others that are ticked, and nothing else`, 'data-move': `only ${own}` });
      alone.checked = only.moves.includes(own);
      alone.addEventListener('change', () => { only.moves = alone.checked ? [...only.moves, own] : only.moves.filter((other) => other !== own); show(); });
      const line = button(sanLine(at, one.pv), '', () => follow(at, one.pv));
      line.dataset.move = `line ${own}`;
      const chances = one.wdl ? percent(one.wdl[0] + one.wdl[1] / 2) : '';
      const verdict = answer.tbhits && one.wdl && ['win', 'draw', 'loss'][one.wdl.indexOf(1)];
      const score = one.mate ? `mate in ${one.mate}` : verdict || chances;
      return [play, String(one.visits), all ? percent(one.visits / all) : '', percent(one.policy), score, one.wdl ? percent(one.wdl[1]) : '', one.plies_left === null ? '' : (one.plies_left / 2).toFixed(1), alone, line];
    });
    searched.append(...dataTable('moves that were searched', heads.map((name) => make('th', { scope: 'col' }, name)), heads, rows).childNodes);
    const again = focused && searched.querySelector(`[data-move="${focused}"]`);
    if (again) again.focus({ preventScroll: true });
    if (hovered) return preview();
    board.querySelectorAll('.arrow, .arrow-head').forEach((one) => one.remove());
    return answer.moves.slice(0, 3).filter(({ visits }) => visits > 0).reverse().forEach((one, place, shown3) => arrow(ownMove(at, one.move), place === shown3.length - 1 ? 'best' : 'better'));
  }

  // A line of UCI's moves as pairs of squares and SAN, as `lineFrom` reads it.
  function pairsOf(start, pv) {
    const pairs = [];
    let at = start;
    for (const move of pv.slice(0, 10)) {
      const own = ownMove(at, move);
      if (!own) break;
      pairs.push(own, sanOf(at, own));
      at = after(at, own);
    }
    return pairs.join(' ');
  }

  function sanLine(start, pv) {
    const { moves: made, numbers } = lineFrom(start, pairsOf(start, pv));
    return made.map(([, san], index) => numbers[index] + san).join(' ');
  }

  // Makes the first move of a line, through which the keys lead on.
  function follow(start, pv) {
    const before = aside ? aside.line.moves.slice(0, aside.made).flat().join(' ') : '';
    const [at, text] = [aside ? aside.at : ply, `${before} ${pairsOf(start, pv)}`.trim()];
    aside = { at, text, line: lineFrom(main.positions[at], text), made: (aside ? aside.made : 0) + 1 };
    show();
  }

  // The board at the end of the line that is pointed at.
  let hovered = null;
  function preview() {
    const answer = answers.get(keyOf(query()));
    const one = answer && answer.moves.find(({ move }) => ownMove(current(), move) === hovered);
    if (one) drawBoard(lineFrom(current(), pairsOf(current(), one.pv)).positions.pop());
  }
  searched.addEventListener('pointerover', ({ target }) => {
    const line = target.closest('[data-move^="line "]');
    const now = line ? line.dataset.move.slice(5) : null;
    if (now === hovered) return;
    hovered = now;
    if (hovered) preview();
    else show();
  });
  searched.addEventListener('pointerleave', () => { if (hovered) { hovered = null; show(); } });

  const steps = make('div', { class: 'buttons' },
    button(icon('M5 4h3v16H5zM19 4v16L8 12z'), 'first position (Home)', () => go(0)),
    button(icon('M17 4v16L6 12z'), 'back (left arrow)', () => step(-1)),
    button(icon('M7 4v16l11-8z'), 'forward (right arrow)', () => step(1)),
    button(icon('M16 4h3v16h-3zM5 4v16l11-8z'), 'last position (End)', () => go(game.plies.length)),
    button(icon('M7 3l5 6H9v12H5V9H2zM17 21l-5-6h3V3h4v12h3z'), 'turn the board (f)', () => { flipped = !flipped; show(); }));
  const errors = make('div', { class: 'buttons errors' },
    button('Previous mistake', 'p', () => seek(-1)),
    button('Next mistake', 'n', () => seek(1)));
  const lessons = make('div', { class: 'buttons' }, button('Learn from your mistakes', '', () => learn()));
  const copies = make('div', { class: 'buttons copies' },
    button('Copy FEN', '', () => copy(fenOf(current()), 'FEN')),
    ...(live ? [] : [button('Copy PGN', '', () => copy(pgn, 'PGN')),
    button('Download PGN', '', download),
    button('Copy link', '', () => copy(location.href, 'Link')),
    button('Save this game as a page', '', saveGame)]));
  const letters = make('input', { type: 'checkbox' });
  letters.checked = hasLetters;
  letters.addEventListener('change', () => { hasLetters = letters.checked; });
  const turnsHeading = make('h2', {}, 'Turning points ', make('span', { class: 'told' }, '% of the winning chances'));
  const movesHeading = make('h2', {}, 'Moves');
  const gameHeading = make('h2', { tabindex: '-1' });
  viewer.append(gameHeading, facts, make('div', { class: 'game' },
    make('div', { class: 'left' }, players[1], make('div', { class: 'board-row' }, make('div', { class: 'bar', 'aria-hidden': 'true' }, bar), board), players[0], steps, ...(live ? [] : [errors, lessons]), entry, heard, said, lines,
      make('p', { class: 'hint' }, 'Keys: ← → move, ', make('label', {}, letters, ' letters p n mistakes, f turns the board'), '. A move on the board is tried.')),
    make('div', { class: 'score' }, movesHeading, moves),
    make('div', { class: 'right' }, ...(live ? [search, play] : [figures, turnsHeading, turns]), mainGraphs, copies, told)), time, moreGraphs);

  function current() {
    return aside ? aside.line.positions[aside.made] : main.positions[ply];
  }

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = make('textarea');
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    told.textContent = `${what} copied.`;
  }

  function save(name, text, type) {
    const link = make('a', { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function download() {
    save('game.pgn', pgn, 'application/x-chess-pgn');
  }

  // This page with the game that is shown alone, as one file to send.
  function saveGame() {
    const page = document.documentElement.cloneNode(true);
    const title = `${game.players[0].name} – ${game.players[1].name}  ${game.result.replaceAll('1/2', '½')}`;
    page.querySelector('#viewer').replaceChildren();
    page.querySelector('body').removeAttribute('data-fen');
    page.querySelector('body').removeAttribute('data-ply');
    page.querySelectorAll('title, h1').forEach((one) => { one.textContent = title; });
    // What a match says of all its games is not of this one.
    if (game.by_players) [...page.querySelector('main').children].filter((one) => !one.matches('h1, #viewer, style, script, noscript')).forEach((one) => one.remove());
    const json = JSON.stringify({ games: [games[shown]], player: null });
    page.querySelector('#games').textContent = json.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
    const name = title.replaceAll('½', '').replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 80);
    save(`${name || 'game'}.html`, `<!DOCTYPE html>\n${page.outerHTML}\n`, 'text/html');
    told.textContent = 'Saved as a page of its own.';
  }

  // The corner of a square's picture.
  function corner(square) {
    const [file, rank] = [FILES.indexOf(square[0]), Number(square[1]) - 1];
    return flipped ? [100 * (7 - file), 100 * rank] : [100 * file, 100 * (7 - rank)];
  }

  function arrow(move, kind) {
    const [[x1, y1], [x2, y2]] = [corner(move.slice(0, 2)), corner(move.slice(2, 4))];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [ex, ey] = [x2 + 50 - 24 * ux, y2 + 50 - 24 * uy];
    const head = `M${ex + 22 * ux} ${ey + 22 * uy}L${ex - 18 * ux - 22 * uy} ${ey - 18 * uy + 22 * ux}L${ex - 18 * ux + 22 * uy} ${ey - 18 * uy - 22 * ux}Z`;
    draw(board, 'path', { class: `arrow ${kind}`, d: `M${x1 + 50 + 24 * ux} ${y1 + 50 + 24 * uy}L${ex} ${ey}` });
    draw(board, 'path', { class: `arrow-head ${kind}`, d: head });
  }

  // Commands of programs within a comment, such as [%timestamp 11]: people do not read them.
  const COMMANDS = /\[%(\w+)\s*([^\]]*)\]/g;

  function proseOf(comment) {
    return comment.replace(COMMANDS, ' ').replace(/\s+/g, ' ').trim();
  }

  // What people drew on the board: a color with a square (csl) or two (cal).
  function drawingsOf(comment) {
    const drawn = [...comment.matchAll(COMMANDS)].filter(([, name]) => name === 'csl' || name === 'cal');
    return drawn.flatMap(([, , list]) => list.match(/[RGBY]([a-h][1-8]){1,2}/g) || []);
  }

  function drawByHand(code) {
    const kind = `drawn ${{ R: 'red', G: 'green', B: 'blue', Y: 'yellow' }[code[0]]}`;
    if (code.length === 5) {
      arrow(code.slice(1), kind);
      return;
    }
    const [x, y] = corner(code.slice(1));
    draw(board, 'circle', { cx: x + 50, cy: y + 50, r: 45, class: kind });
  }

  function drawBoard(at) {
    board.replaceChildren();
    for (let i = 0; i < 64; i++) {
      const square = FILES[i % 8] + (1 + Math.floor(i / 8));
      const [x, y] = corner(square);
      const dark = (i + Math.floor(i / 8)) % 2 === 0 ? 'dark' : 'light';
      draw(board, 'rect', { x, y, width: 100, height: 100, class: at.played.includes(square) ? `${dark} last` : dark });
      if (x === 0) draw(board, 'text', { x: 5, y: y + 22, class: `name ${dark}` }, square[1]);
      if (y === 700) draw(board, 'text', { x: x + 84, y: 794, class: `name ${dark}` }, square[0]);
    }
    const told = { w: [], b: [] };
    Object.entries(at.pieces).forEach(([square, piece]) => {
      const [x, y] = corner(square);
      const [color, kind] = [isWhite(piece) ? 'white' : 'black', piece.toLowerCase()];
      const group = draw(board, 'g', { class: `piece ${color}`, transform: `translate(${x} ${y})` });
      PIECES[kind].forEach((path, index) => draw(group, 'path', { d: path, class: index ? 'detail' : 'outline' }));
      told[color[0]].push(`${NAMES[kind]} ${square}`);
    });
    if (chosen) {
      const [x, y] = corner(chosen);
      draw(board, 'rect', { x: x + 4, y: y + 4, width: 92, height: 92, class: 'chosen' });
    }
    board.setAttribute('aria-label', `White: ${told.w.sort().join(', ')}. Black: ${told.b.sort().join(', ')}.`);
  }

  // A mark in the corner of a square.
  function badge(square, text, kind) {
    const [x, y] = corner(square);
    const group = draw(board, 'g', { class: `badge ${kind}`, transform: `translate(${Math.min(x + 90, 770)} ${Math.max(y + 10, 30)})` });
    draw(group, 'circle', { r: 28 });
    draw(group, 'text', { y: 12 }, text);
  }

  // The moves that the search looked at in a position of the game, with their shares of the visits and the mover's winning chances,
  // percent.
  function tries(at) {
    const words = (game.positions[at].tries || '').split(' ').filter(Boolean);
    return words.filter((_, index) => index % 3 === 0).map((move, index) => [move, words[3 * index + 1] / 10, Number(words[3 * index + 2])]);
  }

  // The moves that end a line, as one text.
  const movesOfLine = (text) => text.split(' ').filter((_, index) => index % 2 === 0).join(' ');

  // What the search thought of a move in a position of the game, or of one behind a line.
  function verdictOn(move, san, text) {
    const looked = tries(aside ? aside.at : ply);
    const searched = (game.positions[aside ? aside.at : ply].lines || []).some(([, line]) => `${movesOfLine(line)} `.startsWith(`${movesOfLine(text)} `));
    if (live) return '';
    if (aside) return searched ? `${san} is in the search’s line.` : `${san}: the search’s lines do not go there.`;
    const place = looked.findIndex(([one]) => one === move);
    const nth = ['first', 'second', 'third'][place] || `${place + 1}th`;
    if (place >= 0) return `${san} is the search’s ${nth} choice, with ${looked[place][1].toFixed(0)} % of the visits.`;
    if (searched) return `${san} is the search’s choice.`;
    return looked.length ? `${san} got less than 1 % of the visits.` : `${san} was not searched.`;
  }

  // Plays a move of one's own. That of the game leads on in the game, others to a line with what the search thought of them.
  function tryMove(move) {
    chosen = null;
    if (isPlaying()) {
      if (!aside && ply === game.plies.length && current().turn !== rival.side) moved(move);
      else {
        stands.textContent = 'Your move is made in the last position (End), when it is your turn.';
        show();
      }
      return;
    }
    if (inLesson() && !aside) {
      judgeTry(move);
      return;
    }
    const own = aside ? '' : (main.moves[ply] || [''])[0];
    if (own && own.slice(0, 4) === move.slice(0, 4)) {
      go(ply + 1);
      return;
    }
    const san = sanOf(current(), move);
    const start = aside ? aside.text.split(' ').slice(0, 2 * aside.made).join(' ') : '';
    const [from, text] = [aside ? aside.at : ply, `${start} ${move} ${san}`.trim()];
    const line = lineFrom(main.positions[from], text);
    // What is said belongs to the position that it is said of.
    const verdicts = { ...(aside ? aside.verdicts : {}), [line.moves.length]: verdictOn(move, san, text) };
    aside = { line, at: from, text, made: line.moves.length, verdicts };
    show();
  }

  // A pawn has reached the last rank by a move on the board.
  function askPromotion(squares) {
    const choices = [...'qrbn'].map((piece) => button(NAMES[piece], '', () => tryMove(squares + piece)));
    said.replaceChildren(make('p', {}, 'The pawn becomes a'), make('div', { class: 'buttons' }, ...choices));
    choices[0].focus();
  }

  // Learning from mistakes: at each `?` and `??` of one side a better move is asked for. A try is as good as what the search knows of
  // it says. `lesson` has the side, the plies of the mistakes, which one it is, and what became of it.
  let lesson = null;
  const inLesson = () => Boolean(lesson) && ply === lesson.plies[lesson.index];
  // Winning chances, percent, that a move may give away and be good.
  const GOOD = 5;

  function mistakesOf(color) {
    return game.plies.map(({ mark }, at) => (mark === '?' || mark === '??' ? at : -1)).filter((at) => at >= 0 && (main.positions[at].turn === 'w') === (color === 0) && (game.positions[at].lines || []).length);
  }

  // The side whose mistakes are asked for: that of the player, else the one at the bottom of the board, else the one that has some.
  function learner() {
    const side = player ? game.players.findIndex(({ name }) => name === player) : -1;
    if (side >= 0) return side;
    return mistakesOf(flipped ? 1 : 0).length ? (flipped ? 1 : 0) : (flipped ? 0 : 1);
  }

  function learn() {
    const color = learner();
    lesson = { color, plies: mistakesOf(color), index: -1, found: 0 };
    flipped = color === 1;
    nextMistake();
  }

  function nextMistake() {
    const { color, plies, index, found } = lesson;
    if (index + 1 >= plies.length) {
      lesson = null;
      show();
      told.textContent = `${found} of ${plies.length} better moves found.`;
      return;
    }
    lesson = { color, plies, index: index + 1, found, isOpen: true, said: '' };
    [aside, chosen, ply] = [null, null, plies[index + 1]];
    show();
  }

  // Says how good a try is, by the search's lines and the moves that it looked at.
  function judgeTry(move) {
    const san = sanOf(current(), move);
    const all = game.positions[ply].lines;
    const isFirst = (line) => line && line[1].split(' ')[0] === move;
    const looked = tries(ply);
    const [best] = all[0][1].split(' ');
    const chances = (one) => (looked.find(([other]) => other === one) || [])[2];
    const loss = chances(best) - chances(move);
    const isBest = isFirst(all[0]);
    const isPlayed = move === main.moves[ply][0];
    const isGood = isBest || (!isPlayed && loss < GOOD);
    const known = all.find(isFirst);
    if (isBest) lesson.said = `${san} is best.`;
    else if (isPlayed) lesson.said = `${san} was played. Try another move.`;
    else if (isGood) lesson.said = `${san} is good: ${loss < 1 ? 'as good as the best move' : `only ${loss.toFixed(0)} % less than the best move`}.`;
    else if (Number.isFinite(loss)) lesson.said = `${san} gives away ${loss.toFixed(0)} %. Try another move.`;
    else lesson.said = known ? `${san} leads to ${signed(known[0])}, and there is better. Try another move.` : `The search preferred other moves to ${san}. Try another move.`;
    if (isGood) {
      lesson.found += lesson.isOpen ? 1 : 0;
      lesson.isOpen = false;
    }
    show();
  }

  function drawLesson() {
    const { color, plies, index, isOpen, said: words } = lesson;
    const { full, turn } = main.positions[ply];
    const name = `${full}${turn === 'w' ? '.' : '…'}${main.moves[ply][1]}${game.plies[ply].mark}`;
    said.append(make('p', { class: 'note' }, `${index + 1} of ${plies.length}: ${name} was played. Find a better move for ${color ? 'Black' : 'White'}.`));
    if (words) said.append(make('p', {}, kept(words)));
    const leave = button('End the lesson', 'Esc', () => { lesson = null; show(); });
    const answer = button('Show the answer', '', () => { lesson.isOpen = false; lesson.said = game.plies[ply].note; show(); });
    said.append(make('div', { class: 'buttons' }, ...(isOpen ? [answer] : []), button(index + 1 < plies.length ? 'Next' : 'Done', '', nextMistake), leave));
  }

  // A line as buttons that lead through it.
  function lineButtons(label, kind, at, [evaluation, text]) {
    const line = lineFrom(main.positions[at], text);
    const row = make('div', { class: `line ${kind}` }, swatch(kind), make('b', {}, `${label} ${signed(evaluation)}`));
    line.moves.forEach(([, san], index) => {
      const isNow = aside && aside.at === at && aside.text === text && aside.made === index + 1;
      const one = button(line.numbers[index] + san, '', () => { aside = { line, at, text, made: index + 1 }; show(); });
      if (isNow) one.setAttribute('aria-current', 'true');
      row.append(one);
    });
    return row;
  }

  function drawPlayers() {
    game.players.forEach((player, color) => {
      const of = (at) => (main.positions[at].turn === 'w') === (color === 0);
      let left = game.base;
      for (let at = 0; at < ply; at++) if (of(at) && game.plies[at].clock !== undefined) left = game.plies[at].clock;
      const title = player.title ? `${player.title} ` : '';
      const row = players[flipped ? 1 - color : color];
      row.replaceChildren(swatch(color ? 'black' : 'white'), make('b', {}, title + player.name), player.rating ? ` ${player.rating}` : '');
      const hasClock = game.plies.some((played) => played.clock !== undefined);
      const low = left !== null && left < game.low ? ' low' : '';
      if (rival && rival.game === game && ply === game.plies.length) row.append(make('span', { class: `clock${leftOf('wb'[color]) < game.low ? ' low' : ''}`, role: 'timer', 'aria-label': `clock of ${color ? 'Black' : 'White'}` }, clock(leftOf('wb'[color]))));
      else if (hasClock && left !== null) row.append(make('span', { class: `clock${low}`, role: 'timer', 'aria-label': `clock of ${color ? 'Black' : 'White'}` }, clock(left)));
    });
  }

  // White's win, draw and loss, permille, beside the board.
  function drawBar(shares) {
    bar.replaceChildren();
    let top = 0;
    (flipped ? [0, 1, 2] : [2, 1, 0]).forEach((of) => {
      draw(bar, 'rect', { y: top, width: 10, height: shares[of], class: `area ${['white', 'draw', 'black'][of]}` });
      top += shares[of];
    });
  }

  // Shows the state: board, players, what is said, lines, the move in the list and on the graphs.
  function show() {
    const at = current();
    drawBoard(at);
    drawPlayers();
    const [here, played] = [game.positions[ply], game.plies[ply - 1]];
    const before = played && played.has_better ? game.positions[ply - 1].lines || [] : [];
    const best = here.lines || [];
    lines.replaceChildren();
    said.replaceChildren();
    const isAsked = inLesson() && lesson.isOpen && !aside;
    viewer.toggleAttribute('data-asked', isAsked);
    if (aside) {
      const verdict = (aside.verdicts || {})[aside.made];
      said.append(make('p', { class: 'note' }, kept(verdict || 'A line, not the game.')), button('Back to the game', 'Esc', () => { aside = null; show(); }));
    } else if (inLesson()) {
      drawLesson();
      if (!isAsked && best.length) arrow(best[0][1].slice(0, 4), 'best');
    } else {
      const evaluation = here.eval ? `${here.eval === 'mate' ? 'Mate' : `Evaluation ${signed(here.eval)}`}` : '';
      const chances = here.wdl ? `: White wins ${(here.wdl[0] / 10).toFixed(0)} %, draws ${(here.wdl[1] / 10).toFixed(0)} %, loses ${(here.wdl[2] / 10).toFixed(0)} %` : '';
      const note = played ? played.note : 'The first position.';
      said.append(make('p', { class: `note ${played ? KINDS[played.mark] || '' : ''}` }, kept(note || main.moves[ply - 1][1])), make('p', {}, kept(evaluation + (evaluation && chances))));
      const source = played && played.source ? played.source : [];
      source.map(proseOf).filter(Boolean).forEach((text) => said.append(make('p', { class: 'told' }, text)));
      source.flatMap(drawingsOf).forEach(drawByHand);
      if (played && played.used !== undefined) {
        const plan = played.planned === undefined ? '' : `, planned ${seconds(played.planned)}`;
        said.append(make('p', {}, `Time ${seconds(played.used)}${plan}`));
      }
      if (before.length) arrow(before[0][1].slice(0, 4), 'better');
      else if (best.length) arrow(best[0][1].slice(0, 4), 'best');
      const choice = ply ? ((game.positions[ply - 1].lines || [])[0] || ['', ''])[1].split(' ')[0] : '';
      if (played && played.mark) badge(at.played[1], played.mark, KINDS[played.mark]);
      else if (choice && choice === main.moves[ply - 1][0]) badge(at.played[1], '✓', 'good');
    }
    if (live && aside) lines.append(lineButtons('Line', 'best', aside.at, ['', aside.text]));
    if (isAsked) lines.append(make('p', { class: 'told' }, 'The answer is hidden.'));
    if (lesson && !inLesson()) said.append(button('Back to the lesson', '', () => go(lesson.plies[lesson.index])));
    if (!inLesson()) before.forEach((line, index) => lines.append(lineButtons(index ? '' : 'Better', 'better', ply - 1, line)));
    if (!isAsked) best.forEach((line, index) => lines.append(lineButtons(index ? '' : 'Now best', 'best', ply, line)));
    const looked = aside || inLesson() ? [] : tries(ply);
    if (looked.length) {
      lines.append(make('div', { class: 'line looked' }, make('b', {}, 'Looked at'), ...looked.map(([move, share]) => button(`${sanOf(at, move)} ${kept(`${share.toFixed(0)} %`)}`, '', () => tryMove(move)))));
    }
    lessons.hidden = Boolean(lesson) || !(mistakesOf(0).length + mistakesOf(1).length);
    drawBar(here.wdl || (here.win === undefined ? [500, 0, 500] : [10 * here.win, 0, 1000 - 10 * here.win]));
    if (live) {
      inGame.forEach((one) => { one.hidden = !isPlaying(); });
      ask();
    }
    const isInMoves = moves.contains(document.activeElement);
    moves.querySelectorAll('button').forEach((one, index) => {
      // The list is one stop of the Tab key.
      one.tabIndex = index + 1 === Math.max(ply, 1) ? 0 : -1;
      if (index + 1 === ply) one.setAttribute('aria-current', 'true');
      else one.removeAttribute('aria-current');
    });
    const now = moves.querySelector('[aria-current]');
    moves.scrollTop = now ? now.offsetTop - moves.clientHeight / 2 : 0;
    if (isInMoves && now) now.focus({ preventScroll: true });
    cursors.forEach((place) => place());
    document.body.dataset.ply = ply;
    document.body.dataset.fen = fenOf(at);
    const hash = games.length > 1 ? `#${shown + 1}/${ply}` : `#${ply}`;
    if (location.hash !== hash && (location.hash || ply || shown)) history.replaceState(null, '', hash);
  }

  function go(goal) {
    [aside, chosen] = [null, null];
    ply = Math.min(Math.max(goal, 0), game.plies.length);
    show();
  }

  function step(by) {
    if (!aside) go(ply + by);
    else if (aside.made + by < 1) {
      aside = null;
      show();
    }
    else {
      aside.made = Math.min(aside.made + by, aside.line.moves.length);
      show();
    }
  }

  // The next position after a mistake, or the one before.
  function seek(by) {
    for (let at = ply + by; at > 0 && at <= game.plies.length; at += by) if (game.plies[at - 1].mark) return go(at);
    told.textContent = by > 0 ? 'No mistake after this.' : 'No mistake before this.';
    return undefined;
  }

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('select, textarea, input:not([type=checkbox])')) return;
    // A box that scrolls has these keys for itself, while it has the focus and more to show.
    const box = event.target;
    const scrolls = box.matches('.table') && (/^Arrow/.test(event.key) ? box.scrollWidth > box.clientWidth : box.scrollHeight > box.clientHeight);
    if (/^(Arrow|Home|End)/.test(event.key) && scrolls) return;
    if (event.key.length === 1 && !hasLetters) return;
    const inMoves = moves.contains(event.target) ? { ArrowUp: () => go(ply - 2), ArrowDown: () => go(ply + 2) } : {};
    const act = {
      ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => go(0), End: () => go(game.plies.length), Escape: () => { if (!aside) lesson = null; go(ply); },
      n: () => seek(1), p: () => seek(-1), f: () => { flipped = !flipped; show(); }, ...inMoves,
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  function squareAt(event) {
    const box = board.getBoundingClientRect();
    const part = (share) => Math.min(7, Math.max(0, Math.floor(8 * share)));
    const [x, y] = [part((event.clientX - box.left) / box.width), part((event.clientY - box.top) / box.height)];
    return flipped ? FILES[7 - x] + (y + 1) : FILES[x] + (8 - y);
  }

  // A piece that is drawn to a square, or clicked with it, is moved there. Elsewhere the finger turns the pages.
  let touched = null;
  board.addEventListener('pointerdown', (event) => { touched = { x: event.clientX, square: squareAt(event) }; });
  board.addEventListener('pointerup', (event) => {
    if (!touched) return;
    const [from, to, moved] = [touched.square, squareAt(event), event.clientX - touched.x];
    touched = null;
    const start = from !== to && owns(current(), from) ? from : chosen;
    const move = start && legalMove(current(), start, to);
    if (move && move[4]) askPromotion(move.slice(0, 4));
    else if (move) tryMove(move);
    else if (from === to) {
      chosen = owns(current(), to) && chosen !== to ? to : null;
      show();
    } else if (!owns(current(), from) && Math.abs(moved) > 30) step(moved < 0 ? 1 : -1);
  });

  // A graph over the plies, as wide as its place. `paint` gets the drawing and the scales; `ticks` are texts with their heights, 0 to 1.
  // It is painted by `paintings`, when all graphs have their places.
  function graph(place, title, legend, { height = 170, ticks = [], paint }) {
    const names = legend.map(([name, kind]) => make('span', { class: `key ${kind}` }, swatch(kind), name));
    const figure = make('figure', { class: 'graph' }, make('figcaption', {}, make('b', {}, title), ...names));
    place.append(figure);
    paintings.push(() => paintGraph(figure, title, { height, ticks, paint }));
  }

  function paintGraph(figure, title, { height, ticks, paint }) {
    const width = Math.max(260, figure.clientWidth);
    const left = 14 + 7 * Math.max(4, ...ticks.map(([text]) => text.length));
    const [right, top, bottom] = [8, 8, 20];
    const count = Math.max(game.plies.length, 1);
    const x = (at) => left + ((width - left - right) * at) / count;
    const y = (share) => height - bottom - (height - bottom - top) * share;
    const svg = draw(figure, 'svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title });
    paint(svg, x, y);
    ticks.forEach(([text, share]) => {
      draw(svg, 'line', { x1: left, x2: width - right, y1: y(share), y2: y(share), class: 'rule' });
      draw(svg, 'text', { x: left - 5, y: y(share) + 4, class: 'end' }, text);
    });
    const every = Math.max(1, Math.ceil(count / 2 / (width / 60) / 5) * 5);
    for (let number = Math.ceil(main.positions[0].full / every) * every; x(2 * (number - main.positions[0].full)) < width - 20; number += every) {
      draw(svg, 'text', { x: x(2 * (number - main.positions[0].full)), y: height - 5, class: 'middle' }, String(number));
    }
    const cursor = draw(svg, 'line', { y1: top, y2: height - bottom, class: 'cursor' });
    cursors.push(() => { cursor.setAttribute('x1', x(ply)); cursor.setAttribute('x2', x(ply)); });
    const seekTo = (event) => {
      if (event.type === 'pointermove' && event.buttons !== 1) return;
      const box = svg.getBoundingClientRect();
      go(Math.round((((event.clientX - box.left) / box.width) * width - left) / ((width - left - right) / count)));
    };
    svg.addEventListener('pointerdown', seekTo);
    svg.addEventListener('pointermove', seekTo);
  }

  // A line with gaps where there is no value.
  function curve(svg, points, kind) {
    let path = '';
    points.forEach(([at, height], index) => { path += `${index ? 'L' : 'M'}${at.toFixed(1)} ${height.toFixed(1)}`; });
    if (path) draw(svg, 'path', { d: path, class: `curve ${kind}` });
  }

  // What is between an edge, or a height that it is given, and the foot of a graph, as far as the edge is known.
  function area(svg, edge, top, foot, kind) {
    if (!edge.length) return;
    const [from, to] = [edge[0][0], edge[edge.length - 1][0]];
    const above = top === undefined ? edge : [[from, top], [to, top]];
    draw(svg, 'polygon', { points: [[from, foot], ...above, [to, foot]].join(' '), class: `area ${kind}` });
  }

  // Heights of the values `at` which there are values.
  const known = (values, x, y) => values.map((value, at) => [value, at]).filter(([value]) => value !== undefined && value !== null).map(([value, at]) => [x(at), y(value)]);

  // Times for the scales of graphs, ms.
  const TIMES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200].map((s) => 1000 * s);
  const roundTime = (ms) => (ms < 60000 ? `${ms / 1000} s` : clock(ms));
  // Heights, as texts with shares of the most, at multiples of the least step that leaves them room.
  const ticksOf = (steps, most, text) => {
    const step = steps.find((one) => most / one <= 4) || most;
    return [0, 1, 2, 3, 4].filter((n) => n * step <= most).map((n) => [text(n * step), (n * step) / most]);
  };

  function drawGraphs() {
    [cursors, paintings] = [[], []];
    mainGraphs.replaceChildren();
    moreGraphs.replaceChildren();
    const { positions, plies } = game;
    const mover = (at) => (main.positions[at].turn === 'w' ? 'one' : 'two');
    const percent = [['100 %', 1], ['50', 0.5], ['0', 0]];
    const isMarked = (played) => KINDS[played.mark];
    if (game.by_players) {
      graph(mainGraphs, 'White’s winning chances', [['by White’s search', 'one'], ['by Black’s', 'two']], { ticks: percent, paint: (svg, x, y) => {
        ['one', 'two'].forEach((kind) => curve(svg, known(positions.map((here, at) => (mover(at) === kind ? here.win : undefined)), x, (win) => y(win / 100)), kind));
      } });
    } else {
      graph(mainGraphs, 'White’s winning chances', [['?!', 'inaccuracy'], ['?', 'mistake'], ['??', 'blunder']], { ticks: percent, paint: (svg, x, y) => {
        const edge = known(positions.map((here) => here.win), x, (win) => y(win / 100));
        area(svg, edge, y(1), y(0), 'black');
        area(svg, edge, undefined, y(0), 'white');
        plies.forEach((played, at) => {
          const size = x(1) - x(0) < 3 ? 0.6 : 1;
          if (isMarked(played)) draw(draw(svg, 'path', { d: SHAPES[played.mark], transform: `translate(${x(at + 1)} ${y(positions[at + 1].win / 100)}) scale(${size})`, class: `dot ${KINDS[played.mark]}` }), 'title', {}, played.note);
        });
      } });
    }
    const longest = Math.max(0, ...plies.map((played) => Math.max(played.used || 0, played.planned || 0)));
    if (plies.some((played) => played.used !== undefined) && longest > 0) {
      // Roots, so that short times can be seen beside long ones.
      const root = (ms) => Math.sqrt(ms / longest) / 2;
      const legend = [['White', 'one'], ['Black', 'two'], ...(plies.some((played) => played.planned !== undefined) ? [['planned', 'plan']] : [])];
      const marks = TIMES.filter((ms) => ms <= longest).slice(-4).filter((_, at, all) => (all.length - 1 - at) % 3 === 0).map((ms) => [roundTime(ms), root(ms)]);
      const ticks = [...marks.map(([text, share]) => [text, 0.5 + share]), ['0', 0.5], ...marks.map(([text, share]) => [text, 0.5 - share])];
      graph(mainGraphs, 'Time for each move', legend, { ticks, paint: (svg, x, y) => {
        const half = Math.min(7, Math.max(1, (x(1) - x(0)) * 0.8));
        // Marks over the bars, the worst first, where none is too near.
        const marked = [];
        ['??', '?', '?!'].forEach((mark) => plies.forEach((played, at) => {
          if (played.mark === mark && !marked.some((other) => mover(other) === mover(at) && x(Math.abs(other - at)) - x(0) < 24)) marked.push(at);
        }));
        plies.forEach((played, at) => {
          const side = mover(at) === 'one' ? 1 : -1;
          const ends = [y(0.5), y(0.5 + side * root(played.used || 0))].sort((a, b) => a - b);
          draw(svg, 'rect', { x: x(at + 1) - half, width: 2 * half, y: ends[0], height: ends[1] - ends[0], class: `bar-of ${isMarked(played) ? KINDS[played.mark] : mover(at)}` });
          if (marked.includes(at)) draw(svg, 'text', { x: x(at + 1), y: ends[side > 0 ? 0 : 1] + (side > 0 ? -3 : 12), class: `middle glyph ${KINDS[played.mark]}` }, played.mark);
          if (played.planned === undefined) return;
          const height = y(0.5 + side * root(played.planned));
          draw(svg, 'line', { x1: x(at + 1) - half - 1, x2: x(at + 1) + half + 1, y1: height, y2: height, class: 'plan' });
        });
      } });
    }
    // Values of the moves of one side stand where the position after them does.
    const ofSide = (kind, key) => [undefined, ...plies.map((played, at) => (mover(at) === kind ? played[key] : undefined))];
    const clocks = plies.map((played) => played.clock).filter((left) => left !== undefined);
    // One clock alone makes no line.
    if (['one', 'two'].some((kind) => ofSide(kind, 'clock').filter((left) => left !== undefined).length > 1)) {
      const most = Math.max(game.base || 0, ...clocks);
      const ticks = ticksOf(TIMES, most, roundTime);
      graph(moreGraphs, 'Clock', [['White', 'one'], ['Black', 'two']], { ticks, paint: (svg, x, y) => {
        ['one', 'two'].forEach((kind) => curve(svg, known(ofSide(kind, 'clock'), x, (left) => y(left / most)), kind));
      } });
    }
    if (positions.some((here) => here.wdl)) {
      graph(moreGraphs, 'How the game may end', [['White wins', 'white'], ['draw', 'draw'], ['Black wins', 'black']], { ticks: percent, paint: (svg, x, y) => {
        area(svg, known(positions.map((here) => here.wdl), x, () => 0), y(1), y(0), 'black');
        [['draw', (wdl) => wdl[0] + wdl[1]], ['white', (wdl) => wdl[0]]].forEach(([kind, sum]) => {
          const edge = known(positions.map((here) => here.wdl), x, (wdl) => y(sum(wdl) / 1000));
          area(svg, edge, undefined, y(0), kind);
        });
      } });
    }
    if (positions.some((here, at) => here.ml !== undefined && at < plies.length)) {
      const most = Math.max(plies.length / 2, ...positions.map((here) => Math.max(here.ml || 0, here.legacy || 0) / 2), 1);
      const ticks = ticksOf([5, 10, 20, 50, 100, 200], most, String);
      const hasLegacy = positions.some((here) => here.legacy !== undefined);
      graph(moreGraphs, 'Moves left', [['as the search expects', 'one'], ...(hasLegacy ? [['by the legacy curve', 'two']] : []), ['played', 'plan']], { ticks, paint: (svg, x, y) => {
        curve(svg, positions.map((_, at) => [x(at), y((plies.length - at) / 2 / most)]), 'truth');
        curve(svg, known(positions.map((here) => here.legacy), x, (ml) => y(ml / 2 / most)), 'two');
        curve(svg, known(positions.map((here) => here.ml), x, (ml) => y(ml / 2 / most)), 'one');
      } });
    }
    paintings.forEach((act) => act());
    cursors.forEach((place) => place());
  }

  function remark({ text, plies }) {
    const item = make('li');
    if (plies.length === 1) {
      item.append(button(kept(text), '', () => go(plies[0])));
      return item;
    }
    item.append(kept(text));
    plies.forEach((at) => {
      const [name, mark] = [main.moves[at - 1][1], game.plies[at - 1].mark || ''];
      const { full, turn } = main.positions[at - 1];
      item.append(' ', button(`${full}${turn === 'w' ? '.' : '…'}${name}${mark}`, '', () => go(at)));
    });
    return item;
  }

  function open(index, at) {
    if (game !== games[index].game) lesson = null;
    shown = index;
    ({ game, pgn } = games[index]);
    main = lineFrom(position(game.fen), game.moves);
    const result = game.result.replaceAll('1/2', '½');
    // The page of one game has the players in its heading.
    gameHeading.hidden = games.length === 1 && !game.by_players;
    gameHeading.textContent = `${game.number}. ${game.players[0].name} – ${game.players[1].name}  ${result}`;
    facts.replaceChildren(...game.facts.map((fact) => make('span', {}, fact)));
    const [, host] = (game.site || '').match(/^https:\/\/([^/]+)/) || [];
    if (host) facts.append(make('a', { href: game.site, rel: 'noreferrer' }, host));
    figures.replaceChildren(make('thead', {}, make('tr', {}, make('td', { class: 'source' }, game.by_players ? '' : 'lichess’ formulas'), make('th', { scope: 'col' }, 'White'), make('th', { scope: 'col' }, 'Black'))));
    figures.append(make('tbody', {}, ...game.figures.map(([what, white, black]) => make('tr', {}, make('th', { scope: 'row' }, what), make('td', {}, white), make('td', {}, black)))));
    turns.replaceChildren(...game.turns.map(remark));
    turnsHeading.hidden = !game.turns.length;
    const rows = make('tbody');
    main.moves.forEach(([, san], number) => {
      const [{ mark }, { turn, full }] = [game.plies[number], main.positions[number]];
      const one = button(san + (mark || ''), KINDS[mark] || '', () => go(number + 1));
      if (mark) one.className = KINDS[mark];
      if (turn === 'w' || number === 0) rows.append(make('tr', {}, make('th', { scope: 'row' }, `${full}.`), ...(turn === 'w' ? [] : [make('td', {}, '…')])));
      rows.lastChild.append(make('td', {}, one));
    });
    moves.replaceChildren(make('table', {}, rows), make('p', { class: 'number' }, result));
    const stories = [0, 1].map(timeStory);
    time.replaceChildren();
    if (stories.some((remarks) => remarks.length)) {
      time.append(make('h2', {}, 'Where the time went'), make('p', { class: 'told' }, 'The plan is what Zeitnot would spend on the move with the same clock.'), make('div', { class: 'sides' }, ...stories.map((remarks, color) => (
        !remarks.length ? '' : make('div', {}, make('h3', {}, `${color ? 'Black' : 'White'}: ${game.players[color].name}`), make('ul', { class: 'remarks' }, ...remarks.map(remark)))))));
    }
    markOpen();
    // Nothing to step through leaves its place to the search.
    viewer.querySelector('.game').toggleAttribute('data-bare', Boolean(live) && !game.plies.length);
    errors.hidden = !game.plies.some((played) => played.mark);
    drawGraphs();
    go(at);
  }

  // The moves of a side with their times, its winning chances before and after each, and the clock before it.
  function movesOf(one, color) {
    const own = (win) => (win === undefined || win === null ? undefined : color ? 100 - win : win);
    const first = (one.fen.split(' ')[1] === 'w') === (color === 0) ? 0 : 1;
    const found = [];
    for (let at = first; at < one.plies.length; at += 2) {
      const before = own(one.positions[at].win) ?? 50;
      const after = own((one.positions[at + (one.by_players ? 2 : 1)] || {}).win) ?? before;
      found.push({ ...one.plies[at], at, before, after, loss: Math.max(0, before - after), left: at > 1 ? one.plies[at - 2].clock : one.base });
    }
    return found;
  }

  // From which move on the clock of a side was low to the end, and whether that decided: it had chances, lost them more quickly than before,
  // and the game. Null if the clock was not low.
  function lowClock(one, color, own = movesOf(one, color)) {
    let start = own.length;
    while (start > 0 && (own[start - 1].left ?? Infinity) < one.low) start -= 1;
    if (start === own.length) return null;
    const sum = (part) => part.reduce((all, { loss }) => all + loss, 0);
    const [before, after] = [own.slice(0, start), own.slice(start)];
    const onTime = one.facts.includes(`${color ? 'Black' : 'White'} lost on time`);
    const byErrors = own[own.length - 1].after < 50 && sum(after) >= 25 && sum(after) / after.length > sum(before) / Math.max(1, before.length);
    return { start, onTime, decided: points(one.result, color) === 0 && own[start].before >= 25 && (onTime || byErrors) };
  }

  // Where the time of a side went, as sentences with the positions that they are about.
  function timeStory(color) {
    const [all, side] = [movesOf(game, color), color ? 'Black' : 'White'];
    const timed = all.filter(({ used }) => used !== undefined);
    const total = (part, key = 'used') => part.reduce((sum, played) => sum + (played[key] || 0), 0);
    const whole = total(timed);
    if (!whole) return [];
    const name = ({ at, mark }) => `${main.positions[at].full}${color ? '…' : '.'}${main.moves[at][1]}${mark || ''}`;
    const story = [];
    const tell = (text, part = []) => story.push({ text, plies: part.slice(0, 8).map(({ at }) => at + 1) });
    const planned = timed.every(({ planned: plan }) => plan !== undefined) ? total(timed, 'planned') : 0;
    const ratio = planned / whole;
    const compared = ratio > 1.15 ? 'more' : ratio < 1 / 1.15 ? 'less' : 'about as much';
    tell(`${side} used ${seconds(whole)}.${planned ? ` Move for move, with the clock as it was, Zeitnot would take ${compared}: ${seconds(planned)}.` : ''}`);
    const isDecided = (win) => win < 5 || win > 95;
    const idle = timed.filter(({ before, after, used }) => isDecided(before) && isDecided(after) && used >= Math.max(1000, whole / 100)).sort((a, b) => b.used - a.used);
    if (total(idle) >= 0.03 * whole) tell(`${seconds(total(idle))} of it went into moves that could not change the result (${idle.length}): the game was decided.`, idle);
    const errors = timed.filter(({ mark }) => mark === '?' || mark === '??');
    const rushed = errors.filter(({ used, planned: plan }) => plan >= 1000 && used < plan / 3).sort((a, b) => a.used - b.used);
    if (rushed.length) tell(`${rushed.length} of ${errors.length} mistakes came in less than a third of the planned time: ${name(rushed[0])} took ${seconds(rushed[0].used)} where the plan is ${seconds(rushed[0].planned)}.`, rushed);
    if (!game.low || all.every(({ left }) => left === undefined)) return story;
    const low = lowClock(game, color, all);
    if (!low) tell(`The clock did not decide: at the end it was above ${seconds(game.low)}, below which it is low.`);
    else {
      const [start, end] = [all[low.start], all[all.length - 1]];
      const then = low.onTime ? 'the flag fell' : `they ended at ${end.after.toFixed(0)} %`;
      tell(low.decided ? `The clock decided from ${name(start)} on: ${side} had ${seconds(start.left)} left and winning chances of ${start.before.toFixed(0)} %, then ${then}.`
        : `From ${name(start)} on the clock was low (${seconds(start.left)}), but it did not decide.`, [start]);
    }
    return story;
  }

  // What a link to a position says: `#12`, or `#3/12` with several games.
  function openLinked() {
    const [, number, at] = location.hash.match(/^#(?:(\d+)\/)?(\d+)$/) || [];
    const first = game || listed.includes(shown) ? shown : listed[0] ?? shown;
    const index = Math.min(Math.max(Number(number || first + 1) - 1, 0), games.length - 1);
    if (games.length > 1 && !listed.includes(index)) {
      // A link leads to a game whatever is chosen.
      [player, words, names.value, filter.value] = ['', '', '', ''];
      [shown, game] = [index, null];
      drawList();
    }
    if (index === shown && game) go(Number(at || 0));
    else open(index, Number(at || 0));
  }

  // The games as a table that can be sorted and filtered, from the view of one player or of nobody, and what they have in common.
  let [player, sorted, descends, words, listed] = ['', 0, false, '', []];
  const commonest = () => {
    const counts = new Map();
    games.forEach(({ game: { players: both } }) => both.forEach(({ name }) => counts.set(name, (counts.get(name) || 0) + 1)));
    return [...counts].filter(([name]) => name !== '?').sort((a, b) => b[1] - a[1]);
  };
  const sideOf = ({ game: { players: both } }) => both.findIndex(({ name }) => name === player);
  const ofSide = ({ summary }, side) => (summary ? [summary.white, summary.black][side] : {});
  const rated = ({ name, rating }) => `${name}${rating ? ` ${rating}` : ''}`;
  const percentOf = (value) => (value === undefined || value === null ? '–' : value.toFixed(0));
  const points = (result, side) => (result === '1-0' ? 1 - side : result === '0-1' ? side : result.startsWith('1/2') ? 0.5 : undefined);

  // The last clock of a side.
  function clockLeft({ game: { plies, fen } }, side) {
    const first = fen.split(' ')[1] === 'w' ? 0 : 1;
    for (let at = plies.length - 1; at >= 0; at--) if ((at + first) % 2 === side && plies[at].clock !== undefined) return plies[at].clock;
    return undefined;
  }

  // Names of columns, and what each has of a game: its text, and what it is sorted by.
  function columnsOf(chosenGames) {
    const has = (test) => chosenGames.some(test);
    const accuracy = (name, side) => [name, (one) => { const { accuracy: value } = ofSide(one, side(one)); return [percentOf(value), value ?? -1]; }];
    const own = player ? sideOf : () => 0;
    const clockOf = (name, side) => [name, (one) => { const left = clockLeft(one, side(one)); return [left === undefined ? '' : clock(left), left ?? -1]; }];
    const who = player ? [
      ['Result', (one) => { const won = points(one.game.result, sideOf(one)); return [{ 1: 'won', 0.5: 'drew', 0: 'lost' }[won] || one.game.result, won ?? -1]; }],
      ['Colour', (one) => [['White', 'Black'][sideOf(one)], sideOf(one)]],
      ['Opponent', (one) => { const name = rated(one.game.players[1 - sideOf(one)]); return [name, name.toLowerCase()]; }],
    ] : [
      ['White', ({ game: { players: both } }) => [rated(both[0]), both[0].name.toLowerCase()]],
      ['Black', ({ game: { players: both } }) => [rated(both[1]), both[1].name.toLowerCase()]],
      ['Result', ({ game: { result } }) => [result.replaceAll('1/2', '½'), result]],
    ];
    return [
      ['Game', ({ game: { number } }) => [String(number), number]],
      ...(has(({ game: { date } }) => date) ? [['Date', ({ game: { date } }) => [date || '', date || '']]] : []),
      ...who,
      ...(has(({ summary }) => summary) ? [accuracy(player ? 'Accuracy' : 'White’s accuracy', own), accuracy(player ? 'Opponent’s' : 'Black’s', (one) => 1 - own(one)),
        ...(player ? [['?? / ?', (one) => { const { blunders, mistakes } = ofSide(one, own(one)); return [`${blunders} / ${mistakes}`, 1000 * blunders + mistakes]; }]] : [])] : []),
      ['Moves', ({ game: { plies } }) => [String(Math.ceil(plies.length / 2)), plies.length]],
      ...(has((one) => clockLeft(one, 0) !== undefined) ? [clockOf(player ? 'Clock left' : 'White’s clock', own), ...(player ? [] : [clockOf('Black’s clock', () => 1)])] : []),
      ...(has(({ summary }) => summary && summary.control) ? [['Time', ({ summary }) => [summary.control || '', summary.control || '']]] : []),
      ...(has(({ game: { end } }) => end) ? [['End', ({ game: { end } }) => [end || '', end || '']]] : []),
    ];
  }

  // Adds up the figures of groups of sides, each under a name.
  function groupsOf(parts, name, rest) {
    const groups = new Map();
    parts.forEach((part) => name(part).forEach(([key, sums]) => {
      const group = groups.get(key) || { games: 0, scored: 0, points: 0, byClock: 0, judged: 0, ofGames: 0, marks: [0, 0, 0] };
      groups.set(key, group);
      group.games += 1;
      const won = points(part.one.game.result, part.side);
      // A game without a result counts for no score.
      group.scored += won === undefined ? 0 : 1;
      group.points += won ?? 0;
      group.byClock += part.byClock ? 1 : 0;
      group.judged += part.own.accuracy === null ? 0 : 1;
      group.ofGames += part.own.accuracy ?? 0;
      sums.forEach((sum) => ['moves', 'accuracy', 'timed', 'planned', 'low', 'used_ms', 'planned_ms'].forEach((field) => { group[field] = (group[field] || 0) + sum[field]; }));
      sums.forEach((sum) => sum.marks.forEach((count, mark) => { group.marks[mark] += count; }));
    }));
    return [...groups].sort((a, b) => rest && b[1].games - a[1].games).slice(0, 15);
  }

  function groupTable(title, groups, hasGames) {
    const per = (sum, count, digits = 1) => (count ? (sum / count).toFixed(digits) : '–');
    const isTimed = groups.some(([, { timed }]) => timed);
    const names = ['', ...(hasGames ? ['games', 'score, %'] : []), 'moves', hasGames ? 'accuracy, %' : 'accuracy of moves, %', '?! / ? / ?? in 100', ...(isTimed ? ['s a move (plan)', 'low clock, %'] : []), ...(isTimed && hasGames ? ['lost by clock'] : [])];
    const rows = groups.map(([name, sum]) => [name, ...(hasGames ? [String(sum.games), per(100 * sum.points, sum.scored, 0)] : []), String(sum.moves), hasGames ? per(sum.ofGames, sum.judged, 0) : per(sum.accuracy, sum.moves, 0), sum.marks.map((count) => per(100 * count, sum.moves)).join(' / '),
      ...(isTimed ? [`${per(sum.used_ms / 1000, sum.timed)} (${per(sum.planned_ms / 1000, sum.planned)})`, per(100 * sum.low, sum.timed, 0)] : []), ...(isTimed && hasGames ? [String(sum.byClock)] : [])]);
    return [make('h3', {}, title), dataTable(title, names.map((name) => make('th', { scope: 'col' }, name || title.replace('By ', ''))), names, rows)];
  }

  function dataTable(label, heads, names, rows) {
    const cells = (row) => row.map((cell, at) => make(at ? 'td' : 'th', at ? { class: 'n', 'data-name': names[at] } : { scope: 'row' }, cell));
    return make('div', { class: 'table blocks', tabindex: '0', role: 'group', 'aria-label': label }, make('table', {}, make('thead', {}, make('tr', {}, ...heads)), make('tbody', {}, ...rows.map((row) => make('tr', {}, ...cells(row))))));
  }

  const [names, table, common] = [make('select'), make('div', { class: 'table games', tabindex: '0', role: 'group', 'aria-label': 'games' }), make('div')];
  const found = make('span', { class: 'told', role: 'status' });
  const filter = make('input', { type: 'search' });

  function drawList() {
    const all = games.map((one, index) => ({ ...one, index })).filter((one) => !player || sideOf(one) >= 0);
    const columns = columnsOf(all);
    const rows = all.map((one) => ({ one, cells: columns.map(([, of]) => of(one)) }));
    const wanted = words.toLowerCase().split(/\s+/);
    const kept = rows.filter(({ one, cells }) => {
      const text = [...cells.map(([cell]) => cell), ...one.game.facts].join(' ').toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    const key = ({ cells }) => cells[Math.min(sorted, columns.length - 1)][1];
    kept.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.one.index - b.one.index) * (descends ? -1 : 1));
    const heads = columns.map(([name], at) => {
      const sort = button(name, '', () => { [sorted, descends] = [at, at === sorted && !descends]; drawList(); table.querySelectorAll('th button')[at].focus(); });
      return make('th', { scope: 'col', 'data-name': name, 'aria-sort': at === sorted ? (descends ? 'descending' : 'ascending') : 'none' }, sort);
    });
    table.replaceChildren(make('table', {}, make('thead', {}, make('tr', {}, ...heads)), make('tbody', {}, ...kept.map(({ one, cells }) => {
      const row = make('tr', { 'data-index': one.index });
      cells.forEach(([text], at) => row.append(make('td', { 'data-name': columns[at][0] }, at ? text : make('a', { href: `#${one.index + 1}/0` }, text))));
      return row;
    }))));
    found.textContent = `${kept.length} of ${games.length} games`;
    listed = kept.map(({ one }) => one.index);
    markOpen();
    drawCommon(kept.map(({ one }) => one));
    // The board shows a game of the list.
    if (game && listed.length && !listed.includes(shown)) open(listed[0], 0);
  }

  function drawCommon(chosenGames) {
    const parts = chosenGames.filter(({ summary }) => summary).flatMap((one) => [0, 1].filter((side) => !player || sideOf(one) === side).map((side) => ({ one, side, own: ofSide(one, side), byClock: (lowClock(one.game, side) || {}).decided, other: one.game.players[1 - side].name })));
    if (!parts.length) return common.replaceChildren();
    const phases = groupsOf(parts, ({ own }) => ['opening', 'middlegame', 'endgame'].map((name, phase) => [name, [own.phases[phase]]])).filter(([, { moves: count }]) => count);
    const controls = groupsOf(parts, ({ one, own }) => [[one.summary.control || 'no clock', own.phases]], true);
    const opponents = groupsOf(parts, ({ own, other }) => [[player ? other : own.name, own.phases]], true);
    return common.replaceChildren(make('h2', {}, `Over these games: ${player || 'all players'}`),
      make('p', { class: 'told' }, 'Accuracy is the mean of the games’ accuracies, and in a phase that of its moves. The clock is low with less than an eighth of the time to begin with, at most a minute.'),
      make('div', { class: 'common' }, make('div', {}, ...groupTable('By phase', phases, false), ...groupTable('By time control', controls, true)), make('div', {}, ...groupTable(player ? 'By opponent' : 'By player', opponents, true))));
  }

  function markOpen() {
    table.querySelectorAll('tbody tr').forEach((row) => row.toggleAttribute('data-open', Number(row.dataset.index) === shown));
  }

  // Several games have a list.
  function showList() {
    if (games.length < 2) return;
    if (list.isConnected) {
      drawList();
      return;
    }
    const [first, second] = commonest();
    const isOne = first && first[1] > 1 && !(second && second[1] === first[1]);
    player = commonest().some(([name]) => name === asked) ? asked : isOne ? first[0] : '';
    names.append(make('option', { value: '' }, 'all players'), ...commonest().map(([name]) => make('option', { value: name }, name)));
    names.value = player;
    names.addEventListener('change', () => { [player, sorted, descends] = [names.value, 0, false]; drawList(); });
    filter.addEventListener('input', () => { words = filter.value.trim(); drawList(); });
    table.addEventListener('click', ({ target }) => {
      const row = target.closest('tbody tr');
      if (!row) return;
      location.hash = `#${Number(row.dataset.index) + 1}/0`;
      setTimeout(() => { gameHeading.focus({ preventScroll: true }); gameHeading.scrollIntoView(); }, 0);
    });
    list.append(make('h2', {}, 'Games'), make('p', { class: 'choice' }, make('label', {}, 'Player ', names), ' ', make('label', {}, 'Filter ', filter), ' ', found), table);
    viewer.prepend(list);
    viewer.append(common);
    drawList();
  }
  showList();
  window.addEventListener('hashchange', openLinked);
  let width = window.innerWidth;
  window.addEventListener('resize', () => {
    if (window.innerWidth !== width) drawGraphs();
    width = window.innerWidth;
  });
  openLinked();
})();
