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
  const families = new Map<string, Family>();
  let current = '';
  for (const line of text.slice(0, -'\n# EOF\n'.length).split('\n')) {
    const fail: Fail = (why) => {
      throw new Error(`${why}: ${line}`);
    };
    const about = metadata.exec(line);
    if (about === null) {
      const family = families.get(current) ?? fail('a sample of no family');
      const samples = [...family.samples, sampleOf(line, family, fail)];
      families.set(current, { ...family, samples });
    } else {
      current = about[2] ?? '';
      families.set(current, described(families.get(current), about, fail));
    }
  }
  for (const family of families.values()) if (family.type === 'histogram') checkBuckets(family);
  return families;
}

type Fail = (why: string) => never;

function described(
  before: Family | undefined,
  [, keyword = '', name = '', rest = '']: RegExpExecArray,
  fail: Fail,
): Family {
  if (keyword === 'TYPE') {
    if (before !== undefined) fail('a family twice');
    if (!Object.hasOwn(suffixes, rest)) fail('an unknown type');
    return { name, type: rest, help: '', samples: [] };
  }
  const family = before ?? fail('metadata before its type');
  if (family.samples.length > 0) fail('metadata after samples');
  if (keyword === 'HELP') {
    if (!/^(?:[^\\]|\\[\\n"])*$/.test(rest)) fail('a wrong escape');
    return { ...family, help: rest };
  }
  if (!name.endsWith(`_${rest}`)) fail('a name without its unit');
  return { ...family, unit: rest };
}

function sampleOf(line: string, family: Family, fail: Fail): Sample {
  const [, name = '', labels = '', value = ''] = sampleLine.exec(line) ?? fail('no sample');
  const suffix = suffixes[family.type]?.find((each) => name === `${family.name}${each}`);
  if (suffix === undefined) fail('a sample of another family');
  const read = { name, labels: labelsOf(labels, fail), value: Number(value) };
  if (Number.isNaN(read.value)) fail('no number');
  if (family.type !== 'gauge' && read.value < 0) fail('a negative count');
  if ((suffix === '_bucket') !== 'le' in read.labels) fail('a bucket without its limit');
  const key = JSON.stringify([name, read.labels]);
  const isTwice = family.samples.some((each) => JSON.stringify([each.name, each.labels]) === key);
  return isTwice ? fail('a sample twice') : read;
}

function labelsOf(text: string, fail: Fail): Readonly<Record<string, string>> {
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
