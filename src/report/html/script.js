/* The page of a report. Everything foreign is put in with textContent, never as markup. */
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const words = data.strings;
  const ZONE = data.zone ? data.zone.name : 'UTC';
  /* A copy is an array in this order once the small ones within are joined; see data.rs. The list of
     what it repeats stays a list. */
  const [TOPIC, PARTITION, DIRECTORY, BROKER, SEGMENT, POSITION, OFFSET, TIMESTAMP, TIME_TYPE, PRODUCER, EPOCH,
    SEQUENCE, SESSION, LEADER_EPOCH, BASE_OFFSET, CRC, VISIBILITY, REPEATS, LEVEL, VALUE] = Array(20).keys();
  const IN_WORDS = new Set([TOPIC, DIRECTORY, SEGMENT, TIME_TYPE, SESSION, VISIBILITY, LEVEL]);
  const FIELDS = [
    ['partition', c => `${words[c[TOPIC]]}-${c[PARTITION]}`], ['directory', DIRECTORY], ['broker', BROKER],
    ['offset', OFFSET], [`time (${ZONE})`, c => time(c[TIMESTAMP])], ['timestamp type', TIME_TYPE],
    ['producer id', PRODUCER], ['producer epoch', EPOCH], ['sequence', SEQUENCE], ['session', SESSION],
    ['leader epoch', LEADER_EPOCH], ['segment', SEGMENT], ['position', POSITION], ['batch base offset', BASE_OFFSET],
    ['batch crc', c => c[CRC] == null ? '' : '0x' + Number(c[CRC]).toString(16).padStart(8, '0')],
    ['visibility', VISIBILITY], ['repeats', c => c[REPEATS] ? `${words[c[REPEATS][0]]}-${c[REPEATS][1]}@${c[REPEATS][2]}` : ''],
    ['how equal', LEVEL], ['value', VALUE],
  ];
  const RANK = {info: 0, low: 1, medium: 2, high: 3};
  const rank = severity => RANK[severity] ?? 4;
  /* What happened, by kind: its mark above the lanes; of several in one column the first is shown. */
  const EVENTS = {
    'log-closed': {mark: '▮', style: 'broker', says: 'the broker closed or loaded the log'},
    'sequence-step': {mark: '!', style: 'wrong', says: 'a batch that intact memory would not have stored'},
    'offset-gap': {mark: '∅', style: 'wrong', says: 'offsets are missing'},
    'sequence-gap': {mark: '⋯', style: 'wrong', says: 'sequences are missing'},
    'transaction-open': {mark: '◌', style: 'open', says: 'a transaction without an end begins'},
    'leader-epoch': {mark: '▲', style: 'leader', says: 'a leader begins'},
    'rewind': {mark: '↶', style: 'wrong', says: 'a consumer group stepped back to here'},
    'transaction-abort': {mark: '✕', style: 'abort', says: 'a transaction was aborted'},
    'transaction-commit': {mark: '✓', style: 'commit', says: 'a transaction was committed'},
    'producer-id-block': {mark: '#', style: 'broker', says: 'a broker was given new producer ids'},
  };
  Object.values(EVENTS).forEach((one, rank) => { one.rank = rank; });
  const ROW = 26, MOST_ROWS = 500000, MOST_JOINS = 400;
  const $ = id => document.getElementById(id);

  function el(name, props, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === 'class') node.className = value;
      else if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? '' : value);
    }
    node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ''));
    return node;
  }
  function svg(name, props, ...children) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(props || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }
  const number = value => typeof value === 'number' ? value.toLocaleString('en-US') : String(value ?? '');
  const counted = (count, word) => `${number(count)} ${word}${count === 1 ? '' : word.endsWith('ch') ? 'es' : 's'}`;
  function time(millis) {
    if (millis === null || millis === undefined) return '';
    if (typeof millis !== 'number' || millis < 0 || millis > 8.6e15) return `time ${millis}`;
    return new Date(millis + ahead(millis) * 1000).toISOString().replace('T', ' ').replace('Z', '');
  }
  /* Seconds that the zone is ahead of UTC at a time. */
  function ahead(millis) {
    let seconds = 0;
    for (const [from, offset] of data.zone ? data.zone.offsets : []) {
      if (millis < from) break;
      seconds = offset;
    }
    return seconds;
  }
  /* What stands behind a time: UTC, or how far the zone is from it then. */
  function zoned(text, millis) {
    if (!text || typeof millis !== 'number' || !data.zone) return text ? `${text} UTC` : '';
    const seconds = ahead(millis), size = Math.abs(seconds);
    const two = count => String(count).padStart(2, '0');
    const minutes = Math.floor(size / 60) % 60;
    return `${text} UTC${seconds < 0 ? '-' : '+'}${two(Math.floor(size / 3600))}${minutes ? `:${two(minutes)}` : ''}`;
  }
  function span(first, last) {
    if (first == null && last == null) return '';
    const [a, b] = [time(first ?? last), time(last ?? first)];
    if (a === b) return a;
    return a.slice(0, 10) === b.slice(0, 10) ? `${a} – ${b.slice(11)}` : `${a} – ${b}`;
  }
  function later(millis) {
    const sign = millis < 0 ? '−' : '+', size = Math.abs(millis);
    const [tenths, seconds, minutes, hours] = [100, 1000, 60000, 3600000].map(unit => Math.round(size / unit));
    if (size < 1000) return `${sign}${size} ms`;
    if (tenths < 600) return `${sign}${(tenths / 10).toFixed(1)} s`;
    if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    if (minutes < 1440) return `${sign}${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    return `${sign}${number(Math.floor(hours / 24))} d ${hours % 24} h`;
  }
  /* A large letter in front, unless the line begins with a name. */
  const opening = text => /^[a-z]+([ ,]|$)/.test(text) && !data.topics.some(topic => text.startsWith(topic.topic))
    ? text[0].toUpperCase() + text.slice(1) : text;
  const sentence = text => text ? opening(text.replace(/\.+$/, '')) + '.' : '';
  const spaced = name => name.replace(/([A-Z])/g, ' $1').toLowerCase();

  function table(head, rows, kinds = [], caption) {
    const cell = (tag, value, index) => el(tag, {class: kinds[index] === 'n' ? 'n' : null, scope: tag === 'th' ? 'col' : null},
      value instanceof Node ? value : String(value ?? ''));
    return el('div', {class: 'scroll'}, el('table', {},
      caption ? el('caption', {class: 'hidden'}, caption) : null,
      el('thead', {}, el('tr', {}, head.map((title, index) => cell('th', title, index)))),
      el('tbody', {}, rows.map(row => el('tr', {}, row.map((value, index) => cell('td', value, index)))))));
  }
  const pairs = entries => el('dl', {class: 'facts'}, entries.filter(([, value]) => value !== '' && value != null)
    .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value instanceof Node ? value : String(value)))));
  const places = finding => {
    const names = finding.partitions.slice(0, 6).map(one => `${one.topic}-${one.partition}`);
    if (finding.partitions.length > 6) names.push(`${number(finding.partitions.length - 6)} more`);
    return names.join(', ');
  };
  /* What tells the events of a finding. */
  const keyOf = topic => topic.identity.key === 'record-key' ? 'record key' : topic.identity.key;
  const identityOf = finding => {
    const topic = data.topics.find(one => one.topic === finding.topics[0]);
    return topic && topic.identity ? keyOf(topic) : 'event';
  };
  /* What tells the events of each topic: topics of one kind stand together. */
  function identities() {
    const told = new Map();
    const topics = data.topics.filter(topic => !topic.internal && topic.identity);
    for (const topic of topics) {
      const said = `${keyOf(topic)}${topic.identity.chosen === 'user' ? ' (as asked)' : ' (chosen by the tool)'}`;
      told.set(said, [...(told.get(said) || []), topic.topic]);
    }
    if (!told.size) return data.invocation.key;
    if (topics.length === 1) return [...told.keys()][0];
    const named = names => `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${counted(names.length - 5, 'more topic')}` : ''}`;
    const kinds = [...told].map(([said, names]) => `${named(names)}: ${said}`);
    return kinds.slice(0, 5).join('; ') + (kinds.length > 5 ? `; ${kinds.length - 5} more kinds, see the topics` : '');
  }
  /* Of an event that was aborted and written again the later copy is the one to keep. */
  const again = finding => finding.code === 'aborted-then-retried' ? `${number(finding.counts.surplusRecords)} beside an aborted copy`
    : counted(finding.counts.surplusRecords, 'surplus record');
  const chip = severity => el('span', {class: `chip ${severity}`}, severity);

  /* ---- the head ---- */
  function head() {
    const how = data.read;
    const counts = new Map();
    for (const finding of data.findings) counts.set(finding.severity, (counts.get(finding.severity) || 0) + 1);
    const severities = [...counts].sort((a, b) => rank(b[0]) - rank(a[0]))
      .map(([severity, count]) => el('span', {}, chip(severity), ` ${number(count)} `));
    const read = el('span', {class: how.whole ? 'good' : 'bad'}, how.words);
    const options = Object.entries(data.invocation.options).map(([name, value]) =>
      `${spaced(name)}: ${typeof value === 'object' ? JSON.stringify(value) : value}`).join('; ');
    $('facts').replaceWith(Object.assign(pairs([
      ['Findings', severities.length ? el('span', {}, severities) : 'none'],
      ['Read', el('span', {}, `${how.amount}: `, read)], ['Replicas', how.replicas], ['Not here', how.absent.join('; ') || null],
      ['One event', identities()], ['As of', data.asOfTime ? zoned(time(data.asOfTimestamp), data.asOfTimestamp) : ''],
      ['Paths', data.invocation.paths.slice(0, 5).join(', ') + (data.invocation.paths.length > 5 ? ` and ${data.invocation.paths.length - 5} more` : '')],
      ['Options', options],
      ['Redacted', data.redaction ? `${data.redaction.mode === 'keys' ? 'keys and values' : 'keys, values and names'}: equal hashes are equal texts${data.redaction.hashKey === 'file' ? '' : ' in this report'}` : ''],
    ]), {id: 'facts'}));
  }

  /* ---- the list of findings ---- */
  const state = {finding: null, shown: [], severities: new Set(), query: '', topic: ''};
  const list = $('list'), detail = $('detail');
  const haystack = finding => finding.haystack ??= [finding.id, finding.code, finding.title, finding.severity, places(finding), ...finding.facts].join('\n').toLowerCase();
  const keyMatches = (finding, query) => finding.groups.some(group => group[0].toLowerCase().includes(query));

  function controls() {
    const severities = [...new Set(data.findings.map(finding => finding.severity))].sort((a, b) => rank(b) - rank(a));
    for (const severity of severities) {
      state.severities.add(severity);
      $('severities').append(el('label', {}, el('input', {type: 'checkbox', checked: true, value: severity, onchange: event => {
        if (event.target.checked) state.severities.add(severity); else state.severities.delete(severity);
        filter();
      }}), severity));
    }
    const topics = [...new Set(data.findings.flatMap(finding => finding.topics))].sort();
    $('topic').append(...topics.map(topic => el('option', {value: topic}, topic)));
    $('topic').addEventListener('change', event => { state.topic = event.target.value; filter(); });
    let wait;
    $('search').addEventListener('input', event => {
      clearTimeout(wait);
      wait = setTimeout(() => { state.query = event.target.value.trim().toLowerCase(); filter(); }, 120);
    });
    document.addEventListener('keydown', event => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); $('search').focus(); }
      if (event.key === 'Escape' && event.target.id === 'search' && state.query) {
        event.target.value = ''; state.query = ''; filter();
      }
    });
    list.addEventListener('keydown', event => {
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (!step) return;
      event.preventDefault();
      const buttons = [...list.querySelectorAll('button')];
      const next = buttons[buttons.indexOf(document.activeElement) + step];
      if (next) { next.focus(); next.click(); }
    });
  }

  function filter() {
    const query = state.query;
    state.shown = data.findings.filter(finding => state.severities.has(finding.severity)
      && (!state.topic || finding.topics.includes(state.topic))
      && (!query || haystack(finding).includes(query) || keyMatches(finding, query)));
    list.replaceChildren(...state.shown.map(finding => el('li', {}, el('button', {type: 'button', 'data-id': finding.id,
      onclick: () => choose(finding)},
      el('span', {class: 'line'}, chip(finding.severity), el('code', {}, finding.code), el('span', {class: 'soft'}, finding.confidence)),
      el('span', {class: 'title'}, finding.title),
      finding.counts.surplusRecords ? el('span', {class: 'soft'}, `${counted(finding.counts.groups, 'event')} · ${again(finding)}`) : null))));
    if (!state.shown.length) {
      list.append(el('li', {class: 'empty'}, data.findings.length ? 'Nothing matches.' : 'Nothing was found.'));
    }
    $('matches').textContent = data.findings.length ? `${number(state.shown.length)} of ${counted(data.findings.length, 'finding')}` : '';
    choose(state.shown.includes(state.finding) ? state.finding : state.shown[0] || null);
  }

  function choose(finding) {
    const changed = finding !== state.finding || !detail.firstChild;
    state.finding = finding;
    for (const button of list.querySelectorAll('button')) {
      button.setAttribute('aria-current', String(Boolean(finding) && button.dataset.id === finding.id));
    }
    if (!finding) { detail.hidden = true; return; }
    detail.hidden = false;
    if (changed || state.query) detail.replaceChildren(...describe(finding, true));
  }

  /* ---- one finding ---- */
  const bullets = (title, lines) => lines.length ? [el('h4', {}, title), el('ul', {}, lines.map(line => el('li', {}, line)))] : [];

  function describe(finding, interactive) {
    const counts = finding.counts;
    const rival = kept => finding.alternatives.filter(one => one.kept === kept)
      .map(one => el('span', {}, el('code', {}, one.code), one.why ? `: ${one.why}` : ''));
    const window_ = finding.window ? zoned(span(finding.window.firstTimestamp, finding.window.lastTimestamp), finding.window.lastTimestamp ?? finding.window.firstTimestamp) : '';
    return [
      el('div', {class: 'headline'}, chip(finding.severity), el('code', {}, finding.code),
        el('span', {class: 'soft'}, `${finding.confidence} · ${finding.id}`)),
      el('h3', {}, sentence(finding.title)),
      el('p', {class: 'soft'}, [places(finding), window_ && `${finding.keepsTimes ? 'record times ' : ''}${window_}`, finding.howEqual].filter(Boolean).join(' · ')),
      counts.surplusRecords ? el('p', {class: 'numbers'},
        el('span', {}, el('b', {}, number(counts.groups)), ` event${counts.groups === 1 ? '' : 's'}`),
        el('span', {}, again(finding)),
        el('span', {}, el('b', {}, number(counts.surplusCommitted)), ' of them surplus for read_committed')) : null,
      ...bullets('What the files show', finding.facts.filter(fact => fact !== finding.title).map(sentence)),
      ...bullets(finding.cause ? `Cause (${finding.cause.confidence})` : '', finding.cause ? [sentence(finding.cause.text)] : []),
      ...bullets('Not excluded', rival(true)), ...bullets('Excluded', rival(false)),
      ...bullets('Would settle it', finding.wouldSettle.map(sentence)), ...bullets('Next', finding.advice.map(sentence)),
      ...evidence(finding), ...(interactive ? groups(finding) : examples(finding)),
    ].filter(Boolean);
  }

  /* Gaps, transactions, stretches and the like: tables with whatever fields they have. */
  function evidence(finding) {
    const shown = [];
    for (const name of ['gaps', 'transactions', 'stretches', 'snapshots', 'records', 'ranges', 'rewinds', 'consumedBy']) {
      const rows = finding[name];
      if (!Array.isArray(rows) || !rows.length) continue;
      /* A time stands once: as its number, told in the zone. */
      const first = ['topic', 'partition', 'group', 'transactionalId', 'producerId', 'producerEpoch'];
      const named = [...new Set(rows.flatMap(row => Object.keys(row)))].filter(field => !/Time$|^time$/.test(field));
      const fields = [...first.filter(field => named.includes(field)), ...named.filter(field => !first.includes(field))];
      const title = field => /Timestamp$|^timestamp$/.test(field) ? `${spaced(field).replace('timestamp', 'time')} (${ZONE})` : spaced(field);
      const omitted = finding[`${name}Omitted`];
      shown.push(el('h4', {}, spaced(name)),
        table(fields.map(title), rows.slice(0, 200).map(row => fields.map(field => {
          const value = row[field];
          if (/Timestamp$|^timestamp$/.test(field)) return time(value);
          if (Array.isArray(value)) return value.map(one => typeof one === 'object' ? JSON.stringify(one) : one).join(', ');
          if (value && typeof value === 'object') return JSON.stringify(value);
          return value === null || value === undefined ? '' : String(value);
        })), [], name));
      const rest = Math.max(rows.length - 200, 0) + (omitted || 0);
      if (rest) shown.push(el('p', {class: 'soft'}, `… and ${number(rest)} more`));
    }
    if (finding.partitioner) shown.push(el('p', {}, `The other keys follow ${finding.partitioner}.`));
    return shown;
  }

  /* ---- groups: a virtual list, and the copies of one side by side ---- */
  const isAborted = copy => words[copy[VISIBILITY]] === 'aborted';
  const where = copy => `${words[copy[TOPIC]]}-${copy[PARTITION]}@${copy[OFFSET]}`;
  const writer = copy => typeof copy[PRODUCER] === 'number' && copy[PRODUCER] < 0 ? 'no PID'
    : `PID ${copy[PRODUCER]}${copy[EPOCH] == null ? '' : ` epoch ${copy[EPOCH]}`}`;
  const apart = copies => {
    const [first, last] = [copies[0], copies[copies.length - 1]];
    if (copies.length < 2 || typeof first[TIMESTAMP] !== 'number' || typeof last[TIMESTAMP] !== 'number') return '';
    return first[TIMESTAMP] === last[TIMESTAMP] && words[last[TIME_TYPE]] === 'CreateTime' ? 'same client time' : later(last[TIMESTAMP] - first[TIMESTAMP]);
  };
  function chain(values) {
    const different = values.filter((value, index) => index === 0 || value !== values[index - 1]);
    return different.length > 3 ? `${different.slice(0, 2).join(' → ')} → … → ${different[different.length - 1]}` : different.join(' → ');
  }

  function compare(group) {
    const [key, form, omitted, copies] = group;
    const value = (copy, get) => {
      const raw = typeof get === 'function' ? get(copy) : IN_WORDS.has(get) ? words[copy[get]] : copy[get];
      return raw === null || raw === undefined ? '' : String(raw);
    };
    const shown = copies.slice(0, 12);
    const rows = FIELDS.map(([name, get]) => [name, shown.map(copy => value(copy, get))])
      .filter(([, values]) => values.some(text => text !== ''));
    const differs = values => values.some(text => text !== values[0]);
    return el('div', {},
      el('h4', {}, 'Copies side by side'),
      el('p', {}, el('code', {}, key), el('span', {class: 'soft'}, form === 'text' ? '' : ` (${form})`)),
      el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `copies of ${key}`}, el('table', {class: 'compare'},
        el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, el('span', {class: 'ne'}), 'field'),
          shown.map((copy, index) => el('th', {scope: 'col'}, index === 0 && !copy[REPEATS] ? 'original' : `copy ${Math.max(index, 1)}`)))),
        el('tbody', {}, rows.map(([name, values]) => el('tr', {class: differs(values) ? 'differs' : null},
          el('th', {scope: 'row'}, el('span', {class: 'ne', 'aria-hidden': 'true'}, differs(values) ? '≠' : ''), name,
            differs(values) ? el('span', {class: 'hidden'}, ' (differs)') : null),
          values.map(text => el('td', {}, text))))))),
      copies.length > 12 || omitted ? el('p', {class: 'soft'}, `… and ${number(copies.length - shown.length + omitted)} more copies`) : null);
  }

  function examples(finding) {
    const shown = finding.groups.slice(0, 3).map(compare);
    const rest = Math.max(finding.counts.groups, finding.groups.length) - shown.length;
    return rest > 0 && shown.length ? [...shown, el('p', {class: 'soft'}, `… and ${counted(rest, 'more event')}`)] : shown;
  }

  function groups(finding) {
    if (!finding.groups.length) return [];
    const query = state.query && keyMatches(finding, state.query) && !haystack(finding).includes(state.query) ? state.query : '';
    const status = el('span', {class: 'soft', role: 'status', 'aria-live': 'polite'});
    const keys = el('div', {class: 'keys'});
    const space = el('div', {class: 'space'});
    const rows = el('div', {class: 'rows', role: 'listbox', tabindex: '0', 'aria-label': 'Events; arrows choose one, its copies are shown below'}, space);
    const beside = el('div', {class: 'beside'});
    const find = el('input', {type: 'search', placeholder: 'find an event …', 'aria-label': 'Find an event', autocomplete: 'off', spellcheck: 'false', value: query});
    let matching = [], chosen = 0, drawn = '';

    function draw() {
      const top = Math.max(0, Math.floor(rows.scrollTop / ROW) - 8);
      const end = Math.min(matching.length, top + Math.ceil((rows.clientHeight || 440) / ROW) + 16);
      const want = `${top}-${end}-${chosen}`;
      if (want === drawn) return;
      drawn = want;
      const nodes = [];
      for (let index = top; index < end; index += 1) {
        const [key, , omitted, copies] = matching[index];
        const row = el('div', {class: 'row', role: 'option', id: `key-${index}`, 'aria-selected': String(index === chosen),
          'aria-setsize': matching.length, 'aria-posinset': index + 1, onclick: () => pick(index)},
          el('span', {class: 'mono', title: key}, key), el('span', {}, `${number(copies.length + omitted)} copies`),
          el('span', {}, chain(copies.map(where))), el('span', {}, chain(copies.map(writer))), el('span', {}, apart(copies)));
        row.style.top = `${index * ROW}px`;
        nodes.push(row);
      }
      space.replaceChildren(...nodes);
    }
    function pick(index) {
      if (!matching.length) { beside.replaceChildren(); rows.removeAttribute('aria-activedescendant'); return; }
      chosen = Math.min(Math.max(index, 0), matching.length - 1);
      const top = chosen * ROW, height = rows.clientHeight || 440;
      if (top < rows.scrollTop) rows.scrollTop = top;
      else if (top + ROW > rows.scrollTop + height) rows.scrollTop = top + ROW - height;
      draw();
      rows.setAttribute('aria-activedescendant', `key-${chosen}`);
      beside.replaceChildren(compare(matching[chosen]));
    }
    function search() {
      const text = find.value.trim().toLowerCase();
      const all = text ? finding.groups.filter(group => group[0].toLowerCase().includes(text)) : finding.groups;
      matching = all.slice(0, MOST_ROWS);
      space.style.height = `${matching.length * ROW}px`;
      /* Two events of one record key differ at the end of what is shown: it has room for the longest. */
      keys.style.setProperty('--key', `${Math.min(matching.reduce((most, group) => Math.max(most, group[0].length), 0), 80) * 0.56 + 0.5}em`);
      rows.classList.toggle('few', matching.length <= 16);
      const omitted = finding.groupsOmitted ? `; ${number(finding.groupsOmitted)} more are not in this report (--max-groups 0)` : '';
      status.textContent = `${number(all.length)} of ${counted(finding.groups.length, 'event')}${omitted}`;
      drawn = '';
      rows.scrollTop = 0;
      pick(0);
    }
    let wait;
    find.addEventListener('input', () => { clearTimeout(wait); wait = setTimeout(search, 120); });
    rows.addEventListener('scroll', () => requestAnimationFrame(draw), {passive: true});
    rows.addEventListener('keydown', event => {
      const page = Math.max(1, Math.floor(rows.clientHeight / ROW) - 1);
      const to = {ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: chosen + page, PageUp: chosen - page, Home: 0, End: matching.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      pick(to);
    });
    requestAnimationFrame(() => { drawn = ''; draw(); });
    search();
    const header = el('div', {class: 'rowhead', 'aria-hidden': 'true'}, [identityOf(finding), 'copies', 'where', 'written by', 'apart'].map(title => el('span', {}, title)));
    keys.append(el('div', {class: 'controls'}, find, status), el('div', {}, header, rows));
    return [el('h4', {}, 'Events'), keys, beside];
  }

  /* ---- the timeline ---- */
  function partitions() {
    const seen = new Map();
    for (const topic of data.topics) {
      for (const partition of topic.partitions) {
        if (partition.replicaOf === null && !topic.internal) seen.set(`${topic.topic}-${partition.partition}`, {topic: topic.topic, partition});
      }
    }
    const accused = new Map();
    for (const finding of data.findings) {
      for (const one of finding.partitions) {
        const name = `${one.topic}-${one.partition}`;
        accused.set(name, Math.max(accused.get(name) ?? -1, rank(finding.severity)));
      }
    }
    return [...seen].map(([name, place]) => ({name, ...place, rank: accused.get(name) ?? -1})).sort((a, b) => b.rank - a.rank);
  }

  function nice(low, high, count) {
    const step = Math.max((high - low) / count, 1), power = 10 ** Math.floor(Math.log10(step));
    const size = [1, 2, 5, 10].map(factor => factor * power).find(one => one >= step);
    const ticks = [];
    for (let at = Math.ceil(low / size) * size; at <= high; at += size) ticks.push(at);
    return ticks;
  }

  function chart(place, axis) {
    const byTime = axis === 'time', partition = place.partition;
    const within = one => one.topic === place.topic && one.partition === partition.partition;
    const sessions = data.producers.flatMap(producer => producer.sessions.filter(within).map(session => ({
      name: `${session.session}${producer.transactionalId ? ` (${producer.transactionalId.value})` : ''}`, key: session.session,
      from: byTime ? session.firstTimestamp : session.firstOffset, to: byTime ? session.lastTimestamp : session.lastOffset, session}))).filter(one => typeof one.from === 'number' && typeof one.to === 'number');
    sessions.sort((a, b) => a.session.firstOffset - b.session.firstOffset);
    const lanes = sessions.slice(0, 40);
    const stretches = partition.protection.stretches.filter(one => one.mode === 'none' || one.mode === 'legacy')
      .map(one => ({from: byTime ? one.firstTimestamp : one.firstOffset, to: byTime ? one.lastTimestamp : one.lastOffset, mode: one.mode}))
      .filter(one => typeof one.from === 'number' && typeof one.to === 'number');
    const at = copy => byTime ? copy[TIMESTAMP] : copy[OFFSET];
    const here = copy => words[copy[TOPIC]] === place.topic && copy[PARTITION] === partition.partition;
    const all = [];
    for (const finding of data.findings) {
      for (const [key, , , copies] of finding.groups) {
        const local = copies.filter(copy => here(copy) && typeof at(copy) === 'number');
        for (let index = 0; index < local.length; index += 1) all.push({key, code: finding.code, copy: local[index], before: local[index - 1] || null});
      }
    }
    /* Every n-th when there are many, so that the picture stays a picture. */
    const stride = Math.max(1, Math.ceil(all.length / (MOST_JOINS * 2)));
    const kept = stride === 1 ? all : all.filter((one, index) => one.before && index % (stride + stride % 2 + 1) < 2);
    const drawn = kept.slice(0, MOST_JOINS * 2);
    const transactions = data.findings.flatMap(finding => (finding.transactions || []).filter(within));
    const ends = byTime ? [] : transactions.map(one => ({offset: one.markerOffset ?? one.firstOffset, outcome: one.outcome, id: one.producerId})).filter(one => typeof one.offset === 'number').slice(0, 200);
    /* What happened: marks above the lanes. Sessions and surplus copies are drawn as such. */
    const happened = data.events.filter(within).filter(one => EVENTS[one.kind]).map(one => ({one, at: byTime ? one.timestamp : one.offset}))
      .filter(event => typeof event.at === 'number').slice(0, 300);
    const unnamed = stretches.length > 0 || all.some(one => one.copy[SESSION] == null);
    const rows = lanes.map(lane => ({label: lane.name, key: lane.key, spans: [lane], lane}));
    if (unnamed) rows.push({label: 'no producer id', key: null, spans: stretches, lane: null});
    if (!rows.length) return el('p', {class: 'soft'}, 'The report names no producer of this partition.');
    const numbers = [...happened.map(event => event.at), ...rows.flatMap(row => row.spans.flatMap(one => [one.from, one.to])), ...all.map(one => at(one.copy))];
    if (!byTime) numbers.push(partition.logStartOffset, Math.max(partition.logEndOffset - 1, 0));
    const usable = numbers.filter(one => typeof one === 'number' && Number.isFinite(one));
    let low = Infinity, high = -Infinity;
    for (const one of usable) { if (one < low) low = one; if (one > high) high = one; }
    if (!(high > low)) high = low + 1;
    const left = 150, right = 985, lane = 26, top = happened.length ? 40 : 22, bottom = top + rows.length * lane;
    const x = value => left + (value - low) / (high - low) * (right - left);
    const index = new Map(rows.map((row, place) => [row.key, place]));
    const y = copy => top + (index.get(copy[SESSION] == null ? null : words[copy[SESSION]]) ?? rows.length - 1) * lane + lane / 2;
    const root = svg('svg', {viewBox: `0 0 1000 ${bottom + 34}`, role: 'img',
      'aria-label': `${place.name}: ${rows.length} lanes, ${number(all.filter(one => one.before).length)} surplus copies; the table below says the same`});
    for (const one of stretches) {
      root.append(svg('rect', {class: 'unprotected', x: x(one.from), y: top - 6, width: Math.max(x(one.to) - x(one.from), 2), height: bottom - top + 6}));
    }
    const label = value => byTime ? time(value).slice(high - low > 172800000 ? 0 : 11, high - low > 172800000 ? 10 : high - low > 600000 ? 19 : 23) : number(value);
    for (const tick of nice(low, high, 7)) {
      root.append(svg('line', {class: 'grid', x1: x(tick), x2: x(tick), y1: top - 6, y2: bottom}));
      const text = svg('text', {class: 'soft', x: x(tick), y: bottom + 14, 'text-anchor': 'middle'});
      text.textContent = label(tick);
      root.append(text);
    }
    const unit = svg('text', {class: 'soft', x: left, y: bottom + 30});
    unit.textContent = byTime ? `time of the records, ${ZONE}${low > 0 ? `, from ${time(low).slice(0, 10)}` : ''}` : 'offset';
    root.append(unit);
    rows.forEach((row, place) => {
      const middle = top + place * lane + lane / 2;
      const text = svg('text', {x: left - 8, y: middle + 4, 'text-anchor': 'end'});
      text.textContent = row.label.length > 20 ? `${row.label.slice(0, 19)}…` : row.label;
      text.append(titled(row.label));
      root.append(svg('line', {class: 'grid', x1: left, x2: right, y1: middle, y2: middle}), text);
      for (const one of row.spans) {
        const bar = svg('rect', {class: `lane-${row.lane ? place % 5 + 1 : 0}`, x: x(one.from), y: middle - 5, width: Math.max(x(one.to) - x(one.from), 2), height: 10, rx: 2});
        bar.append(titled(`${row.label}: ${label(one.from)} – ${label(one.to)}`));
        root.append(bar);
      }
    });
    if (!byTime) {
      const told = new Set(happened.filter(event => event.one.kind === 'leader-epoch').map(event => event.at));
      for (const epoch of partition.leaderEpochs.slice(0, 200)) {
        if (typeof epoch.startOffset !== 'number' || epoch.startOffset < low || epoch.startOffset > high || told.has(epoch.startOffset)) continue;
        const line = svg('line', {class: 'leader', x1: x(epoch.startOffset), x2: x(epoch.startOffset), y1: top - 12, y2: bottom});
        line.append(titled(`leader epoch ${epoch.epoch} begins at offset ${epoch.startOffset}`));
        root.append(line);
      }
    }
    /* The marks of one column stand in one title, so that none hides another. */
    const columns = new Map();
    for (const event of happened) {
      const column = Math.floor(x(event.at) / 14);
      if (!columns.has(column)) columns.set(column, []);
      columns.get(column).push(event);
    }
    for (const events of columns.values()) {
      const kinds = [...new Set(events.map(event => event.one.kind))].sort((a, b) => EVENTS[a].rank - EVENTS[b].rank);
      const here = x(events[0].at), {mark, style} = EVENTS[kinds[0]];
      const lines = events.map(({one, at}) => svg('line', {class: `mark ${EVENTS[one.kind].style}`, x1: x(at), x2: x(at), y1: top - 14, y2: bottom}));
      const sign = svg('text', {class: `sign ${style}`, x: here, y: top - 18, 'text-anchor': 'middle'});
      sign.append(events.length > 1 ? `${mark}+` : mark);
      const said = events.slice(0, 8).map(({one}) => `${one.kind} at offset ${one.offset}${one.timestamp == null ? '' : `, ${zoned(time(one.timestamp), one.timestamp)}`}: ${one.detail}`);
      if (events.length > 8) said.push(`… and ${events.length - 8} more`);
      for (const node of [...lines, sign]) node.append(titled(said.join('\n')));
      root.append(...lines, sign);
    }
    for (const one of ends) {
      if (one.offset < low || one.offset > high) continue;
      const line = svg('line', {class: one.outcome === 'committed' ? 'commit' : one.outcome === 'aborted' ? 'abort' : 'open', x1: x(one.offset), x2: x(one.offset), y1: bottom - 6, y2: bottom + 4});
      line.append(titled(`producer ${one.id}: transaction ${one.outcome}, offset ${one.offset}`));
      root.append(line);
    }
    /* What repeats an aborted copy is the valid one. */
    const markOf = (code, copy) => isAborted(copy) ? 'aborted' : code === 'aborted-then-retried' ? 'valid' : 'copy';
    const has = mark => all.some(one => one.before && markOf(one.code, one.copy) === mark);
    for (const {key, code, copy, before} of drawn) {
      if (!before) continue;
      const [x1, y1, x2, y2] = [x(at(before)), y(before), x(at(copy)), y(copy)];
      const bend = y1 === y2 ? Math.max(-14, -Math.abs(x2 - x1) / 6) : 0;
      const path = svg('path', {class: 'join', d: `M${x1} ${y1} Q${(x1 + x2) / 2} ${(y1 + y2) / 2 + bend} ${x2} ${y2}`});
      const first = svg('circle', {class: isAborted(before) ? 'aborted' : 'original', cx: x1, cy: y1, r: 2.6});
      const second = svg('circle', {class: markOf(code, copy), cx: x2, cy: y2, r: 3.2});
      for (const node of [path, second]) node.append(titled(`${key}: ${where(before)} → ${where(copy)}, ${code}`));
      root.append(path, first, second);
    }
    const entry = (shape, text) => el('span', {}, svg('svg', {viewBox: '0 0 22 12', 'aria-hidden': 'true'}, shape), text);
    const legend = el('div', {class: 'legend'},
      entry(svg('rect', {class: 'lane-1', x: 0, y: 2, width: 22, height: 8, rx: 2}), 'a session, from its first record to its last'),
      all.some(one => one.before && !isAborted(one.before)) ? entry(svg('circle', {class: 'original', cx: 11, cy: 6, r: 3}), 'original') : null,
      all.some(one => isAborted(one.copy)) ? entry(svg('circle', {class: 'aborted', cx: 11, cy: 6, r: 3}), 'in an aborted transaction') : null,
      has('copy') ? entry(svg('circle', {class: 'copy', cx: 11, cy: 6, r: 4}), `later copy${kept.length < all.length ? ' (a sample)' : ''}`) : null,
      has('valid') ? entry(svg('circle', {class: 'valid', cx: 11, cy: 6, r: 4}), 'valid, written again behind an abort') : null,
      stretches.length ? entry(svg('rect', {class: 'unprotected', x: 0, y: 0, width: 22, height: 12}), 'without protection') : null,
      Object.entries(EVENTS).filter(([kind]) => happened.some(event => event.one.kind === kind)).map(([kind, {mark, style, says}]) =>
        el('span', {}, el('b', {class: `sign ${style}`, 'aria-hidden': 'true'}, mark), says)),
      !byTime && partition.leaderEpochs.length && !happened.some(event => event.one.kind === 'leader-epoch') ? entry(svg('line', {class: 'leader', x1: 11, x2: 11, y1: 0, y2: 12}), 'a leader begins') : null,
      ends.length ? entry(svg('line', {class: 'commit', x1: 11, x2: 11, y1: 0, y2: 12}), 'end of a transaction that a finding names') : null,
      sessions.length > lanes.length ? el('span', {}, `${number(sessions.length - lanes.length)} more sessions in the table of producers`) : null);
    const rowsOf = lanes.map(one => [one.name, `${one.session.firstOffset}–${one.session.lastOffset}`, span(one.session.firstTimestamp, one.session.lastTimestamp), number(one.session.records)]);
    const story = happened.length ? el('details', {class: 'story'}, el('summary', {}, `${counted(happened.length, 'event')} in the order of the log`),
      table(['offset', `time (${ZONE})`, 'what', 'detail'], happened.map(({one}) => [one.offset, time(one.timestamp), one.kind, one.detail]), ['n'], `events of ${place.name}`),
      data.eventsOmitted ? el('p', {class: 'soft'}, `${counted(data.eventsOmitted, 'event')} of all partitions that tell less are not in this report (--max-groups 0)`) : null) : null;
    const same = el('div', {class: 'hidden'}, table(['session', 'offsets', `times (${ZONE})`, 'records'], rowsOf, [], `sessions of ${place.name}`));
    return el('div', {}, root, legend, story, same);
  }
  function titled(text) {
    const node = svg('title', {});
    node.textContent = text;
    return node;
  }
  function timeline() {
    const all = partitions();
    if (!all.length) { $('timeline').hidden = true; return; }
    const select = $('partition');
    select.append(...all.slice(0, 5000).map((place, index) => el('option', {value: index}, place.rank >= 0 ? `${place.name} (has findings)` : place.name)));
    const draw = () => {
      const axis = document.querySelector('input[name=axis]:checked').value;
      $('chart').replaceChildren(chart(all[Number(select.value) || 0], axis));
    };
    select.addEventListener('change', draw);
    $('axis').addEventListener('change', draw);
    draw();
  }

  /* ---- topics, producers, coverage ---- */
  function topics() {
    const shown = data.topics.filter(topic => !topic.internal);
    $('topic-tables').append(...shown.slice(0, 100).map(topic => {
      const sums = {idempotent: 0, transactional: 0, none: 0, legacy: 0};
      let records = 0;
      for (const {replicaOf, protection, records: own} of topic.partitions) {
        if (replicaOf !== null) continue;
        records += own;
        sums.idempotent += protection.idempotentRecords; sums.transactional += protection.transactionalRecords;
        sums.none += protection.unprotectedRecords; sums.legacy += protection.legacyRecords;
      }
      const names = {idempotent: 'idempotent', transactional: 'transactional', none: 'unprotected', legacy: 'formats 0 and 1'};
      const said = Object.entries(sums).filter(([, count]) => count).map(([kind, count]) => `${names[kind]} ${number(count)}`).join(', ') || 'no records';
      const stack = el('div', {class: 'stack', 'aria-hidden': 'true'});
      for (const [kind, count] of Object.entries(sums)) {
        if (!count) continue;
        const part = el('span', {class: `bar-${kind}`});
        part.style.width = `${count / Math.max(records, 1) * 100}%`;
        stack.append(part);
      }
      const identity = topic.identity;
      const what = identity && identity.key === 'content' ? 'content' : 'key';
      const seen = visible => `${counted(visible.records, 'record')}${visible.distinctKeys == null ? '' : `, ${counted(visible.distinctKeys, what)}, ${counted(visible.repeatedKeyRecords, 'repeat')} of a ${what}`}`;
      const partitions = topic.partitions.slice(0, 200);
      return el('div', {class: 'panel topic'}, el('h3', {}, topic.topic),
        pairs([['protection', el('span', {}, said, stack)],
          ['readers', topic.visibility.readCommitted.records === topic.visibility.readUncommitted.records && topic.visibility.readCommitted.repeatedKeyRecords === topic.visibility.readUncommitted.repeatedKeyRecords
            ? `both isolation levels: ${seen(topic.visibility.readCommitted)}`
            : `read_committed: ${seen(topic.visibility.readCommitted)}; read_uncommitted: ${seen(topic.visibility.readUncommitted)}`],
          ['identity', identity ? `${identity.key} (${identity.chosen === 'user' ? 'as asked' : 'chosen by the tool'}${identity.why ? `: ${identity.why}` : ''})` : 'records were not read'],
          ['does not count', identity ? identity.volatile.join(', ') : ''],
          ['suggestions', identity ? identity.suggestions.map(one => `--key ${one.key} (${one.why})`).join('; ') : ''],
          ['updates', topic.updates.records ? `${counted(topic.updates.records, 'record')} of ${counted(topic.updates.keys, 'key')} repeat a key with new content: counted, not accused` : '']]),
        el('details', {open: partitions.length <= 4}, el('summary', {}, counted(topic.partitions.length, 'partition')),
          table(['partition', 'directory', 'broker', 'offsets', 'high watermark', 'records', 'bytes', `times (${ZONE})`, 'replica of'],
            partitions.map(one => [one.partition, one.directory, one.brokerId, `${one.logStartOffset} – ${one.logEndOffset}`, one.highWatermark, number(one.records), number(one.bytes), span(one.firstTimestamp, one.lastTimestamp), one.replicaOf]),
            ['n', '', 'n', '', 'n', 'n', 'n'], `partitions of ${topic.topic}`),
          topic.partitions.length > 200 ? el('p', {class: 'soft'}, `… and ${number(topic.partitions.length - 200)} more`) : null));
    }));
    if (shown.length > 100) $('topic-tables').append(el('p', {class: 'soft'}, `… and ${number(shown.length - 100)} more topics`));
    if (!shown.length) $('topic-tables').append(el('p', {class: 'soft'}, 'No topics.'));
  }

  /* What the name of a session means. */
  function namedSession(rows) {
    const parts = rows.map(row => /^(\d+)#(\d+)$/.exec(row[0])).find(Boolean);
    return parts ? el('p', {class: 'soft'}, `${parts[0]} means producer id ${parts[1]}, session ${parts[2]}`) : null;
  }

  function producers() {
    const rows = data.producers.flatMap(producer => producer.sessions.map(session => {
      const [first, last] = [session.epochs[0], session.epochs[session.epochs.length - 1]];
      const epochs = !first || first.producerEpoch === null ? '' : first.producerEpoch === last.producerEpoch ? first.producerEpoch : `${first.producerEpoch}–${last.producerEpoch}`;
      return [session.session, producer.transactionalId ? producer.transactionalId.value : session.transactional ? 'transactional' : '', `${session.topic}-${session.partition}`,
        `${session.firstOffset}–${session.lastOffset}`, epochs, session.epochs.length === 1 && first.firstSequence !== null ? `${first.firstSequence}–${last.lastSequence}` : '',
        number(session.records), span(session.firstTimestamp, session.lastTimestamp)];
    }));
    const target = $('producer-table');
    if (!rows.length) { target.append(el('p', {class: 'soft'}, 'No record carries a producer id.')); return; }
    target.append(el('div', {class: 'panel'}, table(['session', 'transactional id', 'partition', 'offsets', 'epochs', 'sequences', 'records', `times (${ZONE})`], rows.slice(0, 1000), ['', '', '', '', 'n', '', 'n', ''], 'producer sessions'),
      namedSession(rows),
      rows.length > 1000 || data.producersOmitted ? el('p', {class: 'soft'}, `… and ${[[Math.max(rows.length - 1000, 0), 'more session'], [data.producersOmitted, 'more producer']].filter(([count]) => count).map(([count, word]) => counted(count, word)).join(', ')}`) : null));
  }

  function coverage() {
    const c = data.coverage, target = $('coverage-body');
    target.append(el('div', {class: 'panel'}, pairs([['partitions', number(c.partitions)], ['segments', number(c.segments)], ['batches', number(c.batches)], ['control batches', number(c.controlBatches)],
      ['records', number(c.records)], ['with key', number(c.recordsKeyed)], ['without key', number(c.recordsWithoutKey)], ['not decoded', number(c.recordsUndecoded)], ['bytes read', `${number(c.bytesRead)} of ${number(c.bytes)}`]]),
      c.damage.length ? [el('h4', {}, 'Damage'), table(['file', 'position', 'length', 'kind', 'detail', 'offsets', ''],
        c.damage.slice(0, 500).map(one => [one.file, one.position, one.length, one.kind, one.detail, one.firstOffset === null ? '' : `${one.firstOffset}–${one.lastOffset ?? ''}`, one.expected ? 'to be expected' : el('span', {class: 'bad'}, 'not expected')]), ['', 'n', 'n'], 'damage')] : el('p', {class: 'good'}, 'No damage was seen.'),
      c.damageOmitted ? el('p', {class: 'soft'}, `… and ${counted(c.damageOmitted, 'more place')} of damage`) : null,
      ...bullets('Notes', c.notes.slice(0, 200).map(one => `${one.file ? `${one.file}: ` : ''}${one.detail}`)),
      data.evidence.length ? [el('h4', {}, 'Evidence'), table(['directory', 'broker', 'cluster', 'files', 'bytes', 'newest file', 'closed cleanly'],
        data.evidence.map(one => [one.directory, one.brokerId, one.clusterId, number(one.files), number(one.bytes), one.newestFileTime, one.cleanShutdown === null ? 'not known' : one.cleanShutdown ? 'yes' : 'no']), ['', 'n', '', 'n', 'n'], 'evidence')] : null));
  }

  /* On paper there is nothing to click: all findings, with three keys each. */
  function paper() {
    $('print').replaceChildren(el('h2', {}, 'Findings'), ...data.findings.slice(0, 200).map(finding => el('div', {class: 'panel'}, describe(finding, false))),
      data.findings.length > 200 ? el('p', {}, `… and ${number(data.findings.length - 200)} more findings`) : '',
      data.findings.length ? '' : el('p', {}, 'Nothing was found.'));
  }
  addEventListener('beforeprint', () => { paper(); $('main').prepend($('print')); });
  addEventListener('afterprint', () => $('print').replaceChildren());

  for (const finding of data.findings) {
    for (const group of finding.groups) group[3] = group[3].map(parts => [].concat(...parts));
  }
  data.findings.sort((a, b) => rank(b.severity) - rank(a.severity));
  head(); controls(); filter(); timeline(); topics(); producers(); coverage();
  /* How long it took, for whoever measures. */
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
