/** One field of a server's form. */

import { useId } from 'preact/hooks';
import type { FormChoice, FormField, NamedField } from '../../../../src/domain/question.ts';
import { boundsOf, initialOf, type Typed } from '../../model/question-form.ts';
import { shownLine } from '../../model/shown-text.ts';

interface QuestionFieldProps {
  readonly named: NamedField;
  readonly typed: Typed | undefined;
  readonly problem: string | undefined;
  readonly onType: (typed: Typed) => void;
}

// A text that may be longer gets more than one line.
const oneLine = 200;

export function QuestionField({ named, typed, problem, onType }: QuestionFieldProps) {
  const id = useId();
  const { name, isRequired, field } = named;
  const notes = [field.description, boundsOf(field)].filter((note) => note !== undefined);
  const value = typed ?? initialOf(field);
  const about = {
    'aria-required': isRequired,
    'aria-invalid': problem !== undefined,
    'aria-describedby': `${id}-notes`,
  };
  const label = (
    <>
      <span>{shownLine(field.title ?? name, 120)}</span>
      {isRequired ? <span class="required">required</span> : null}
    </>
  );
  const below = (
    <div id={`${id}-notes`}>
      {problem === undefined ? null : (
        <p class="problem" role="alert">
          {shownLine(problem)}
        </p>
      )}
      {notes.map((note) => (
        <p key={note} class="field-note">
          {shownLine(note, 600)}
        </p>
      ))}
    </div>
  );
  const rowClass = problem === undefined ? 'form-row' : 'form-row wrong';
  if (field.type === 'choices') {
    const chosen = typeof value === 'string' ? [] : value;
    return (
      <fieldset class={rowClass} aria-describedby={`${id}-notes`}>
        <legend>{label}</legend>
        <Choices name={name} choices={field.choices} chosen={chosen} onType={onType} />
        {below}
      </fieldset>
    );
  }
  return (
    <div class={rowClass}>
      <label for={id}>{label}</label>
      <Input
        field={field}
        isRequired={isRequired}
        onType={onType}
        common={{ id, name, class: 'field', value: String(value), ...about }}
      />
      {below}
    </div>
  );
}

interface ChoicesProps {
  readonly name: string;
  readonly choices: readonly FormChoice[];
  readonly chosen: readonly string[];
  readonly onType: (typed: Typed) => void;
}

function Choices({ name, choices, chosen, onType }: ChoicesProps) {
  return (
    <div class="question-choices">
      {choices.map(({ value, title }) => (
        <label key={value}>
          <input
            type="checkbox"
            name={name}
            value={value}
            checked={chosen.includes(value)}
            onChange={({ currentTarget: { checked } }) =>
              onType(checked ? [...chosen, value] : chosen.filter((each) => each !== value))
            }
          />
          {shownLine(title, 200)}
        </label>
      ))}
    </div>
  );
}

const samples = {
  email: 'name@example.com',
  uri: 'https://example.com/',
  'date-time': '2026-01-31T09:30:00Z',
} as const;

interface InputProps {
  readonly field: FormField;
  readonly isRequired: boolean;
  readonly onType: (typed: Typed) => void;
  readonly common: {
    readonly id: string;
    readonly name: string;
    readonly class: string;
    readonly value: string;
  };
}

function Input({ field, isRequired, onType, common }: InputProps) {
  const listen = {
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onType(event.currentTarget.value),
  };
  switch (field.type) {
    case 'boolean':
    case 'choice': {
      const choices = field.type === 'choice' ? field.choices : truths;
      return (
        <select {...common} {...listen}>
          <option value="">{isRequired ? 'Choose…' : 'leave out'}</option>
          {choices.map(({ value, title }) => (
            <option key={value} value={value}>
              {shownLine(title, 200)}
            </option>
          ))}
        </select>
      );
    }
    case 'number':
    case 'integer':
      return <input {...common} {...listen} type="text" inputMode="decimal" autocomplete="off" />;
    case 'string': {
      const { format, maxLength = 0 } = field;
      if (maxLength > oneLine) return <textarea {...common} {...listen} rows={3} />;
      if (format === 'date') return <input {...common} {...listen} type="date" />;
      const inputMode = format === 'email' ? 'email' : format === 'uri' ? 'url' : 'text';
      const placeholder = format === undefined ? undefined : samples[format];
      return (
        <input
          {...common}
          {...listen}
          type="text"
          inputMode={inputMode}
          placeholder={placeholder}
          autocomplete="off"
        />
      );
    }
    case 'choices':
      return null;
  }
}

const truths: readonly FormChoice[] = [
  { value: 'true', title: 'yes' },
  { value: 'false', title: 'no' },
];
