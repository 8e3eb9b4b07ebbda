/** A decision about a server, with all its facts: nothing is cut, folded or prettified. */

import { useEffect, useState } from 'preact/hooks';
import { nameWord } from '../../../../src/domain/data/printable.ts';
import type { ApprovalChange, ApprovalRequest } from '../../../../src/domain/host/approval.ts';
import { approvalValueLine } from '../../../../src/policies/approvals/values.ts';
import { spoken } from '../../model/announcements.ts';
import { commandLine } from '../../model/command-line.ts';
import { shownLine } from '../../model/shown-text.ts';
import { command, messageOf } from '../../state/api.ts';
import { change, toast } from '../../state/store.ts';
import { Empty } from '../controls.tsx';
import { Dialog } from './dialog.tsx';

type Decision = 'approve' | 'reject' | 'revoke';
const titles: Readonly<Record<Decision, string>> = {
  approve: 'Allow this server to run?',
  reject: 'Keep this server from running?',
  revoke: 'Revoke the decision?',
};
const all = Number.MAX_SAFE_INTEGER;

export function ApprovalDialog({ server, decision }: { server: string; decision: Decision }) {
  const [request, setRequest] = useState<ApprovalRequest>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    command<{ approvals: readonly ApprovalRequest[] }>('approvals')
      .then(({ approvals }) => {
        const found = approvals.find((each) => each.server === server);
        if (found === undefined) setProblem('This server needs no approval.');
        else setRequest(found);
      })
      .catch((error: unknown) => setProblem(messageOf(error)));
  }, [server]);
  return (
    <Dialog
      title={titles[decision]}
      isWide
      footer={request === undefined ? undefined : <Decide request={request} decision={decision} />}
    >
      <p class="decision-name mono">{shownLine(server, all)}</p>
      {problem === undefined ? null : <Empty title={problem} />}
      {request === undefined ? null : <Request request={request} />}
    </Dialog>
  );
}

function Decide({ request, decision }: { request: ApprovalRequest; decision: Decision }) {
  const [busy, setBusy] = useState<Decision>();
  const decide = async (what: Decision): Promise<void> => {
    setBusy(what);
    try {
      const { server, fingerprint } = request;
      const { saved } = await command<{ saved: boolean }>(what, { server, fingerprint });
      const kept = saved ? '' : ' It could not be saved and only applies until the troupe stops.';
      toast(
        'good',
        `${shownLine(server, 80)}: ${what === 'approve' ? 'approved' : what === 'reject' ? 'rejected' : 'needs approval again'}.${kept}`,
      );
      change({ dialog: undefined });
    } catch (error) {
      toast('bad', messageOf(error));
      setBusy(undefined);
    }
  };
  const offered: readonly Decision[] = decision === 'revoke' ? ['revoke'] : ['reject', 'approve'];
  return (
    <>
      <button type="button" class="plain-button" onClick={() => change({ dialog: undefined })}>
        Decide later
      </button>
      {offered.map((each) => (
        <button
          key={each}
          type="button"
          class={each === 'approve' ? 'main-button' : 'danger-button'}
          disabled={busy !== undefined}
          data-decide={each}
          onClick={() => void decide(each)}
        >
          {each === 'approve' ? 'Approve' : each === 'reject' ? 'Reject' : 'Revoke'}
        </button>
      ))}
    </>
  );
}

function Request({ request }: { request: ApprovalRequest }) {
  const { source, because, warnings, changes, toolChanges } = request;
  const line = commandLine(request.command, request.args);
  return (
    <>
      <p class="soft">
        {because === undefined
          ? `It is ${spoken(request.decision)}.`
          : `Reason: ${spoken(because)}.`}{' '}
        Declared in{' '}
        <span class="mono">
          {shownLine(
            `${source.file ?? source.key}${source.line === undefined ? '' : `:${source.line}`}`,
          )}
        </span>
        .
      </p>
      {warnings?.map((warning) => (
        <p key={warning} class="warning">
          {shownLine(warning, all)}
        </p>
      ))}
      {line === undefined ? null : <pre class="command-line">{line}</pre>}
      <dl class="facts facts-wide">
        <Whole name="Address" value={request.url} />
        <Whole name="Connects to host" value={request.host} />
        <Whole name="Leads to" value={request.executable} />
        <Whole name="Folder" value={request.cwd} />
        <Whole name="Reads there" value={request.folderFiles?.map(nameWord).join(', ')} />
        {request.values?.map((value) => {
          const [title, given] = approvalValueLine(value);
          return <Whole key={value.field} name={`Given: ${title}`} value={given} />;
        })}
        <Whole name="Variables from" value={request.envFile} />
        <Whole name="Which sets" value={request.envFileNames?.map(nameWord).join(', ')} />
        <Whole name="Fingerprint" value={request.fingerprint} />
      </dl>
      {changes === undefined || changes.length === 0 ? null : <Changes changes={changes} />}
      {toolChanges?.map(({ kind = 'tool', tool, diff }) => (
        <section key={`${kind} ${tool}`} class="diff">
          <h3>
            {spoken(kind)} <span class="mono">{shownLine(tool, all)}</span>
          </h3>
          <DiffLines lines={diff} />
        </section>
      ))}
    </>
  );
}

function Whole({ name, value }: { name: string; value: string | undefined }) {
  if (value === undefined || value === '') return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd class="mono">{shownLine(value, all)}</dd>
    </div>
  );
}

function Changes({ changes }: { changes: readonly ApprovalChange[] }) {
  const lines = changes.flatMap(({ field, before, now }) => [
    ...(before === undefined ? [] : [`- ${field}: ${before === '' ? 'not shown' : before}`]),
    ...(now === undefined ? [] : [`+ ${field}: ${now === '' ? 'not shown' : now}`]),
  ]);
  return (
    <section class="diff">
      <h3>Since it was approved</h3>
      <DiffLines lines={lines} />
    </section>
  );
}

function DiffLines({ lines }: { lines: readonly string[] }) {
  return (
    <pre class="diff-lines">
      {lines.map((line, place) => (
        <span
          key={`${place} ${line}`}
          class={line.startsWith('-') ? 'gone' : line.startsWith('+') ? 'came' : ''}
        >
          {`${shownLine(line, all)}\n`}
        </span>
      ))}
    </pre>
  );
}
