/** One field of a server's form. */

import { useId } from 'preact/hooks';
import type { FormChoice, FormField, NamedField } from '../../../../src/domain/question.ts';
import { boundsOf, initialOf, type Typed } from '../../model/question-form.ts';
import { shownLine } from '../../model/shown-text.ts';

interface QuestionFieldProps {
  readonly named: NamedField;
  /** Whether the open dialog begins with it. */
  readonly isFirst: boolean;
  readonly typed: Typed | undefined;
  readonly problem: string | undefined;
  readonly onType: (typed: Typed) => void;
}

// A text that may be longer gets more than one line.
const oneLine = 200;

export function QuestionField({ named, isFirst, typed, problem, onType }: QuestionFieldProps) {
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
  if (field.type === 'choices' || field.type === 'boolean') {
    const chosen = typeof value === 'string' ? [value] : value;
    return (
      <fieldset class={rowClass} aria-describedby={`${id}-notes`}>
        <legend>{label}</legend>
        {field.type === 'choices' ? (
          <Choices
            {...{ name, chosen, isFirst }}
            choices={field.choices}
            type="checkbox"
            onChoose={(choice, isOn) =>
              onType(isOn ? [...chosen, choice] : chosen.filter((each) => each !== choice))
            }
          />
        ) : (
          <Choices
            {...{ name, chosen, isFirst }}
            choices={isRequired ? truths : [...truths, { value: '', title: 'leave out' }]}
            type="radio"
            onChoose={(choice) => onType(choice)}
          />
        )}
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
        common={{
          ...{ id, name, class: 'field', value: String(value), autofocus: isFirst },
          ...about,
        }}
      />
      {below}
    </div>
  );
}

interface ChoicesProps {
  readonly name: string;
  readonly type: 'checkbox' | 'radio';
  readonly choices: readonly FormChoice[];
  readonly chosen: readonly string[];
  readonly isFirst: boolean;
  readonly onChoose: (value: string, isOn: boolean) => void;
}

function Choices({ name, type, choices, chosen, isFirst, onChoose }: ChoicesProps) {
  return (
    <div class="question-choices">
      {choices.map(({ value, title }, place) => (
        <label key={value}>
          <input
            type={type}
            autofocus={isFirst && place === 0}
            name={name}
            value={value}
            checked={chosen.includes(value)}
            onChange={({ currentTarget: { checked } }) => onChoose(value, checked)}
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
    readonly autofocus: boolean;
  };
}

function Input({ field, isRequired, onType, common }: InputProps) {
  const listen = {
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      onType(event.currentTarget.value),
  };
  switch (field.type) {
    case 'choice':
      return (
        <select {...common} {...listen}>
          <option value="">{isRequired ? 'Choose…' : 'leave out'}</option>
          {field.choices.map(({ value, title }) => (
            <option key={value} value={value}>
              {shownLine(title, 200)}
            </option>
          ))}
        </select>
      );
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
    case 'boolean':
    case 'choices':
      return null;
  }
}

const truths: readonly FormChoice[] = [
  { value: 'true', title: 'yes' },
  { value: 'false', title: 'no' },
];
