/** A form to call a tool, and the result. */

import { useId, useMemo, useState } from 'preact/hooks';
import type { ExposedTool, ToolResult } from '../../../../src/domain/tool.ts';
import { argumentsOf, type Field, type FormProblem, fieldsOf } from '../../model/schema-form.ts';
import { shownLine } from '../../model/shown-text.ts';
import { command, InspectorError, messageOf } from '../../state/api.ts';
import { type Outcome, ToolOutcome } from './tool-outcome.tsx';

interface CallReport {
  readonly result: ToolResult;
  readonly meta: {
    readonly attempts: number;
    readonly durationMs: number;
    readonly background?: string;
  };
}

export function ToolForm({ tool }: { tool: ExposedTool }) {
  const fields = useMemo(() => fieldsOf(tool.inputSchema), [tool.inputSchema]);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [problems, setProblems] = useState<readonly FormProblem[]>([]);
  const [outcome, setOutcome] = useState<Outcome>();
  const call = async (permission?: 'allow'): Promise<void> => {
    const answer = argumentsOf(fields, typed);
    setProblems('problems' in answer ? answer.problems : []);
    if ('problems' in answer) return;
    setOutcome({ kind: 'waiting' });
    const began = performance.now();
    try {
      const report = await command<CallReport>('call', {
        server: tool.server,
        tool: tool.tool,
        arguments: answer.args,
        ...(permission === undefined ? {} : { permission }),
      });
      setOutcome({
        kind: 'answered',
        result: report.result,
        tookMs: report.meta.durationMs,
        attempts: report.meta.attempts,
      });
    } catch (error) {
      const document = error instanceof InspectorError ? error.document : {};
      setOutcome({
        kind: 'failed',
        message: messageOf(error),
        document,
        tookMs: performance.now() - began,
      });
    }
  };
  return (
    <form
      class="tool-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void call();
      }}
    >
      {fields.length === 0 ? <p class="soft">This tool takes no arguments.</p> : null}
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={typed[field.name] ?? field.initial}
          problem={problems.find((each) => each.field === field.name)?.message}
          onInput={(value) => setTyped((all) => ({ ...all, [field.name]: value }))}
        />
      ))}
      <p class="form-foot">
        <button type="submit" class="main-button" disabled={outcome?.kind === 'waiting'}>
          {outcome?.kind === 'waiting' ? <span class="spinner" aria-hidden="true" /> : null}
          Call
        </button>
        {problems.length === 0 ? null : (
          <span class="problem" role="alert">
            {problems.length === 1 ? 'Fix one field.' : `Fix ${problems.length} fields.`}
          </span>
        )}
      </p>
      <div aria-live="polite">
        {outcome === undefined ? null : (
          <ToolOutcome server={tool.server} outcome={outcome} onAllow={() => void call('allow')} />
        )}
      </div>
    </form>
  );
}

interface FieldRowProps {
  readonly field: Field;
  readonly value: string;
  readonly problem: string | undefined;
  readonly onInput: (value: string) => void;
}

function FieldRow({ field, value, problem, onInput }: FieldRowProps) {
  const id = useId();
  const notes = [field.description, field.hint].filter((note) => note !== undefined);
  return (
    <div class={problem === undefined ? 'form-row' : 'form-row wrong'}>
      <label for={id}>
        <span class="mono">{shownLine(field.title, 120)}</span>
        {field.required ? <span class="required">required</span> : null}
      </label>
      <Input id={id} field={field} value={value} onInput={onInput} />
      {problem === undefined ? null : <p class="problem">{shownLine(problem)}</p>}
      {notes.map((note) => (
        <p key={note} class="field-note" id={`${id}-note`}>
          {shownLine(note, 600)}
        </p>
      ))}
    </div>
  );
}

function Input({
  id,
  field,
  value,
  onInput,
}: Omit<FieldRowProps, 'problem'> & { readonly id: string }) {
  const common = {
    id,
    name: field.name,
    'aria-required': field.required,
    class: 'field',
    value,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onInput(event.currentTarget.value),
  };
  const options =
    field.kind === 'boolean'
      ? ['true', 'false'].map((label) => ({ label, place: label }))
      : field.options?.map(({ label }, place) => ({ label, place: String(place) }));
  switch (field.kind) {
    case 'choice':
    case 'boolean':
      return (
        <select {...common}>
          <option value="">{field.required ? 'Choose…' : 'leave out'}</option>
          {options?.map(({ label, place }) => (
            <option key={label} value={place}>
              {shownLine(label, 120)}
            </option>
          ))}
        </select>
      );
    case 'json':
    case 'list':
      return <textarea {...common} class="field mono" rows={3} spellcheck={false} />;
    case 'number':
    case 'integer':
      return <input {...common} type="text" inputMode="decimal" />;
    case 'text':
      return field.isLong ? (
        <textarea {...common} rows={3} />
      ) : (
        <input {...common} type="text" autocomplete="off" />
      );
  }
}
