/** A tool's result, as text and images only; nothing in it becomes markup. */

import type { ErrorDocument } from '../../../../src/domain/caller-code.ts';
import { writeJson } from '../../../../src/domain/data/exact-json.ts';
import type { ToolResult } from '../../../../src/domain/tool.ts';
import { duration } from '../../model/durations.ts';
import { shownLine, shownLines } from '../../model/shown-text.ts';
import { change, usePage } from '../../state/store.ts';
import { CopyButton } from '../controls.tsx';

export type Outcome =
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'answered';
      readonly result: ToolResult;
      readonly tookMs: number;
      readonly attempts: number;
    }
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly document: Partial<ErrorDocument>;
      readonly tookMs: number;
    };

const outcomeWords: Readonly<Record<ErrorDocument['outcome'], string>> = {
  not_executed: 'The call was not executed.',
  executed: 'The call was executed.',
  unknown: 'It is not known whether the call was executed.',
};

interface ToolOutcomeProps {
  readonly server: string;
  readonly outcome: Outcome;
  readonly onAllow: () => void;
}

export function ToolOutcome({ server, outcome, onAllow }: ToolOutcomeProps) {
  switch (outcome.kind) {
    case 'waiting':
      return <Waiting server={server} />;
    case 'failed':
      return <FailedCall outcome={outcome} onAllow={onAllow} />;
    case 'answered':
      return <Answer {...outcome} />;
  }
}

function Waiting({ server }: { server: string }) {
  const isAsking = usePage(({ questions }) => questions.some((each) => each.server === server));
  if (!isAsking) return <p class="soft">Waiting for the answer…</p>;
  return (
    <p class="outcome-head">
      <span>The server asks a question.</span>
      <button
        type="button"
        class="small-button"
        onClick={() => change({ dialog: { kind: 'questions' } })}
      >
        Answer it
      </button>
    </p>
  );
}

function FailedCall({
  outcome,
  onAllow,
}: {
  outcome: Extract<Outcome, { kind: 'failed' }>;
  onAllow: () => void;
}) {
  const { document, message, tookMs } = outcome;
  return (
    <section class="outcome outcome-bad" data-outcome="failed">
      <p class="outcome-head">
        <b>{document.code ?? 'Failed'}</b>
        <span class="number soft">{duration(tookMs)}</span>
      </p>
      <p>{shownLine(message, 1_000)}</p>
      <p class="soft">
        {document.outcome === undefined ? null : outcomeWords[document.outcome]}
        {document.retryable === true ? ' You can try again.' : null}
      </p>
      {document.code === 'PERMISSION_DENIED' ? (
        <button type="button" class="plain-button" onClick={onAllow}>
          Allow once
        </button>
      ) : null}
    </section>
  );
}

function Answer({ result, tookMs, attempts }: Extract<Outcome, { kind: 'answered' }>) {
  const isError = result.isError === true;
  const structured = result.structuredContent;
  return (
    <section
      class={isError ? 'outcome outcome-bad' : 'outcome outcome-good'}
      data-outcome={isError ? 'error' : 'ok'}
    >
      <p class="outcome-head">
        <b>{isError ? 'The tool returned an error' : 'Answered'}</b>
        <span class="number soft">
          {duration(tookMs)}
          {attempts > 1 ? `, sent ${attempts} times` : ''}
        </span>
        <CopyButton text={writeJson(result, 2)} label="Copy" />
      </p>
      {result.content.map((part, place) => (
        <Part key={String(place)} part={part} />
      ))}
      {structured === undefined ? null : (
        <details open={result.content.length === 0}>
          <summary>Structured content</summary>
          <pre class="code">{shownLines(writeJson(structured, 2))}</pre>
        </details>
      )}
    </section>
  );
}

// Formats that browsers decode without running anything; an SVG could contain external links.
const safeImages = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/u;

function Part({ part }: { part: Readonly<Record<string, unknown>> }) {
  const { type, text, data, mimeType } = part;
  if (type === 'text' && typeof text === 'string')
    return <pre class="answer-text">{shownLines(text)}</pre>;
  if (
    type === 'image' &&
    typeof data === 'string' &&
    typeof mimeType === 'string' &&
    safeImages.test(mimeType)
  ) {
    return (
      <img class="answer-image" src={`data:${mimeType};base64,${data}`} alt="Result of the tool" />
    );
  }
  return <pre class="code">{shownLines(writeJson(part, 2), 4_000)}</pre>;
}
