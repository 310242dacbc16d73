// All tokens: what each may do, when it was used, and buttons to create and revoke.

import { useState } from "preact/hooks";
import { get, send } from "../../api/client.ts";
import type { AdminPage, Token } from "../../api/server-types.ts";
import { useCommands } from "../../state/commands.ts";
import { useCurrentRequest } from "../../state/current-request.ts";
import { useLoad } from "../../state/load.ts";
import { tellDone, tellFailure } from "../../state/notices.ts";
import { paramOf, setParam } from "../../state/params.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ScrollBox } from "../../ui/scroll-box.tsx";
import { Message, Shown } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { NewToken } from "./new-token.tsx";

export function Tokens() {
  const page = Number(paramOf("page") || 1);
  const path = page === 1 ? "/-/tokens" : `/-/tokens?page=${page}`;
  useCurrentRequest({ method: "GET", path });
  const loaded = useLoad(path, (signal) => get<AdminPage<Token>>(path, signal));
  const [revoked, setRevoked] = useState<Token>();
  const isNew = paramOf("new") !== "";
  const open = () => setParam("new", "token");
  useCommands([{ label: "New token", key: "n", run: open }], "tokens");
  return (
    <section class="page">
      <header class="page-head">
        <h1>Tokens</h1>
        <Button kind="primary" icon="plus" onClick={open}>
          New token
        </Button>
      </header>
      <Shown loaded={loaded} what="tokens">
        {({ data, total, pages }) => (
          <>
            <TokenList all={data} onRevoke={setRevoked} />
            {pages > 1 && <Pages page={page} pages={pages} total={total} />}
          </>
        )}
      </Shown>
      {isNew && <NewToken onClose={() => setParam("new", "")} onMade={loaded.reload} />}
      {revoked && (
        <RevokeDialog
          token={revoked}
          onClose={() => setRevoked(undefined)}
          onDone={loaded.reload}
        />
      )}
    </section>
  );
}

/** The filter is about the tokens of one page. */
const Pages = ({ page, pages, total }: { page: number; pages: number; total: number }) => (
  <nav class="tool-row" aria-label="Pages of tokens">
    <Button isDisabled={page <= 1} onClick={() => setParam("page", `${page - 1}`)}>
      Previous
    </Button>
    <span>
      AdminPage {page} of {pages}, {total.toLocaleString("en")} tokens
    </span>
    <Button isDisabled={page >= pages} onClick={() => setParam("page", `${page + 1}`)}>
      Next
    </Button>
  </nav>
);

type TokenState = "valid" | "expired" | "revoked";

function stateOf({ revokedAt, expiresAt }: Token): TokenState {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? "expired" : "valid";
}

const textOf = ({ name, subject, scopes, roles }: Token): string =>
  [name, subject, ...scopes, ...roles].join(" ").toLowerCase();

interface TokenListProps {
  readonly all: readonly Token[];
  readonly onRevoke: (token: Token) => void;
}

function TokenList({ all, onRevoke }: TokenListProps) {
  const filter = paramOf("filter");
  const isAll = paramOf("state") === "all";
  const shown = all
    .filter((token) => isAll || stateOf(token) === "valid")
    .filter((token) => textOf(token).includes(filter.trim().toLowerCase()));
  return (
    <>
      <div class="tool-row">
        <input
          type="search"
          aria-label="Filter tokens"
          placeholder="Filter by name, subject, scope or role"
          class="grow"
          value={filter}
          onInput={(event) => setParam("filter", event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isAll}
            onChange={() => setParam("state", isAll ? "" : "all")}
          />
          Revoked and expired ones, too
        </label>
      </div>
      {shown.length === 0 ? (
        <Message icon="key-round" title="No token fits">
          <p>{all.length} tokens are not shown.</p>
        </Message>
      ) : (
        <TokenTable tokens={shown} onRevoke={onRevoke} />
      )}
    </>
  );
}

const columns = ["Name", "Allowed to", "Created", "Expires", "Last use"];

const TokenTable = ({
  tokens,
  onRevoke,
}: {
  tokens: readonly Token[];
  onRevoke: (token: Token) => void;
}) => (
  <ScrollBox label="Tokens">
    <table class="table tokens">
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
          <td />
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <TokenRow key={token.id} token={token} onRevoke={() => onRevoke(token)} />
        ))}
      </tbody>
    </table>
  </ScrollBox>
);

function TokenRow({ token, onRevoke }: { token: Token; onRevoke: () => void }) {
  const { id, name, subject, scopes, roles, createdAt, expiresAt, usedAt, revokedAt } = token;
  return (
    <tr data-state={stateOf(token)}>
      <th scope="row" class="wide-cell">
        {name}
        {subject !== id && <p class="faint">for {subject}</p>}
      </th>
      <td class="wide-cell">
        <ul class="tags">
          {scopes.map((scope) => (
            <li key={scope} class="tag">
              {scope}
            </li>
          ))}
          {roles.map((role) => (
            <li key={`role ${role}`} class="tag role">
              role {role}
            </li>
          ))}
        </ul>
      </td>
      <td>
        <Time value={createdAt} />
      </td>
      <td>{expiresAt === null ? "never" : <Time value={expiresAt} />}</td>
      <td>{usedAt === null ? "never" : <Time value={usedAt} />}</td>
      <td class="number">
        {revokedAt === null ? (
          <Button kind="quiet" onClick={onRevoke}>
            Revoke<span class="hidden-text"> {name}</span>
          </Button>
        ) : (
          <span class="faint">
            revoked <Time value={revokedAt} />
          </span>
        )}
      </td>
    </tr>
  );
}

interface RevokeProps {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RevokeDialog({ token: { id, name }, onClose, onDone }: RevokeProps) {
  const [isBusy, setIsBusy] = useState(false);
  const revoke = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await send({ method: "DELETE", path: `/-/tokens/${id}` });
      tellDone(`Revoked “${name}”.`);
      onDone();
    } catch (error) {
      tellFailure(error);
    }
    onClose();
  };
  return (
    <Dialog title={`Revoke “${name}”?`} onClose={onClose}>
      <p>Requests with this token fail from now on. This cannot be undone.</p>
      <div class="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" isBusy={isBusy} onClick={() => void revoke()}>
          Revoke “{name}”
        </Button>
      </div>
    </Dialog>
  );
}
