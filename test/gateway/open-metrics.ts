/** A strict reader of OpenMetrics 1.0 text, as far as the gateway writes it. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly unit?: string;
  readonly samples: readonly Sample[];
}

const metricName = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const metadata = new RegExp(`^# (TYPE|UNIT|HELP) (${metricName}) (.*)$`);
const sampleLine = new RegExp(`^(${metricName})(?:\\{(.*)\\})? (\\S+)$`);
const oneLabel = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"/;
const suffixes: Readonly<Record<string, readonly string[]>> = {
  gauge: [''],
  counter: ['_total'],
  histogram: ['_bucket', '_count', '_sum'],
};

/** @throws Error that names the line, for anything that the format does not allow */
export function readOpenMetrics(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n# EOF\n')) throw new Error('does not end with # EOF and a line feed');
  const families = new Map<string, Family & { readonly samples: Sample[] }>();
  const lines = text.slice(0, -'# EOF\n'.length).split('\n').slice(0, -1);
  let current: string | undefined;
  for (const line of lines) {
    const fail = (why: string): never => {
      throw new Error(`${why}: ${line}`);
    };
    const about = metadata.exec(line);
    if (about !== null) {
      const [, keyword = '', name = '', rest = ''] = about;
      if (keyword === 'TYPE') {
        if (families.has(name)) fail('a family twice');
        if (suffixes[rest] === undefined) fail('an unknown type');
        families.set(name, { name, type: rest, help: '', samples: [] });
        current = name;
        continue;
      }
      const family = families.get(name);
      if (family === undefined || name !== current) return fail('metadata of no open family');
      if (family.samples.length > 0) fail('metadata after samples');
      if (keyword === 'HELP' && /(?:^|[^\\])(?:\\\\)*\\(?![\\n"])/.test(rest))
        fail('a wrong escape');
      if (keyword === 'UNIT' && !name.endsWith(`_${rest}`)) fail('a name without its unit');
      families.set(name, { ...family, [keyword.toLowerCase()]: rest });
      continue;
    }
    if (line.startsWith('#')) fail('an unknown comment');
    const [, name = '', labels = '', value = ''] = sampleLine.exec(line) ?? fail('no sample');
    const family = current === undefined ? undefined : families.get(current);
    if (family === undefined) return fail('a sample of no family');
    const suffix = suffixes[family.type]?.find((each) => name === `${family.name}${each}`);
    if (suffix === undefined) return fail('a sample of another family');
    const read = { name, labels: labelsOf(labels, fail), value: Number(value) };
    if (Number.isNaN(read.value)) fail('no number');
    if (family.type !== 'gauge' && read.value < 0) fail('a negative count');
    if ((suffix === '_bucket') !== 'le' in read.labels) fail('a bucket without its limit');
    const key = JSON.stringify([name, Object.entries(read.labels).toSorted()]);
    const isTwice = family.samples.some(
      (each) => JSON.stringify([each.name, Object.entries(each.labels).toSorted()]) === key,
    );
    if (isTwice) fail('a sample twice');
    family.samples.push(read);
  }
  for (const family of families.values()) if (family.type === 'histogram') checkBuckets(family);
  return families;
}

function labelsOf(text: string, fail: (why: string) => never): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const [all, name = '', value = ''] = oneLabel.exec(rest) ?? fail('a wrong label');
    if (Object.hasOwn(labels, name)) fail('a label twice');
    labels[name] = value.replaceAll(/\\(.)/g, (_, character: string) =>
      character === 'n' ? '\n' : character,
    );
    rest = rest.slice(all.length);
    if (rest === '') break;
    if (!rest.startsWith(',')) fail('labels without a comma');
    rest = rest.slice(1);
  }
  return labels;
}

/** Buckets count all up to their limit, in order, and end with all there is. */
function checkBuckets({ name, samples }: Family): void {
  const series = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _limit, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const [key, parts] of series) {
    const buckets = parts.filter((part) => part.name.endsWith('_bucket'));
    const count = parts.find((part) => part.name.endsWith('_count'));
    const limits = buckets.map(({ labels }) => Number(labels['le']?.replace('+Inf', 'Infinity')));
    const isRising = (values: readonly number[], isStrict: boolean): boolean =>
      values.every((value, index) => {
        const before = values[index - 1] ?? Number.NEGATIVE_INFINITY;
        return isStrict ? value > before : value >= before;
      });
    if (limits.at(-1) !== Infinity || !isRising(limits, true))
      throw new Error(`${name} ${key}: limits`);
    const counts = buckets.map(({ value }) => value);
    if (!isRising(counts, false) || counts.at(-1) !== count?.value)
      throw new Error(`${name} ${key}: counts`);
    if (!parts.some((part) => part.name.endsWith('_sum')))
      throw new Error(`${name} ${key}: no sum`);
  }
}
