// Posts of authors in teams and tenants, the rules that say who reads them, and callers with a token each.

import { define, fill, type Headers, request } from "./fill.ts";

/** How many posts an author has, and a team, at every size of the collection. */
export const postsOfAuthor = 100;
const postsOfTeam = 1_000;
const tenants = 10;
/** One post in so many is published. */
const publishedPart = 4;
/** How many callers have a token, and memberships in so many teams. */
const maxCallers = 1_000;
const teamsOfCaller = 3;

export const authorsOf = (count: number): number => Math.ceil(count / postsOfAuthor);

const teamOf = (number: number, count: number): string =>
  `team${number % Math.ceil(count / postsOfTeam)}`;

const tenantOf = (author: number): string => `tenant${author % tenants}`;

/** A post of a collection of `count`. */
function post(number: number, count: number): object {
  const author = number % authorsOf(count);
  return {
    title: `Post ${number}`,
    body: `This is what post ${number} says, in one sentence.`,
    author: `user${author}`,
    team: teamOf(number * 7, count),
    tenant: tenantOf(author),
    status: (number * 48_271) % publishedPart === 0 ? "published" : "draft",
  };
}

const text = { type: "string" };
const properties = {
  ...{ title: text, body: text, author: text, team: text, tenant: text, status: text },
};

/** Every field that a rule names is indexed, so that a change of the rules builds nothing. */
const plain = {
  schema: { type: "object", properties },
  indexed: ["author", "team", "tenant", "status"],
};

const mine = { name: "mine", to: "token", where: { author: "$me" } };
const team = { name: "team", to: "token", where: { team: { in: "$my.teams" } } };
const published = {
  name: "published",
  to: "everyone",
  where: { status: "published" },
  fields: ["title", "body", "author"],
};

/** The definitions of the same posts, by who may read them. */
export const postDefinitions = {
  plain,
  mine: { ...plain, access: { read: [mine] } },
  team: { ...plain, access: { read: [team] } },
  tenant: {
    ...plain,
    access: { read: [mine] },
    boundary: { tenant: { in: "$my.tenants" } },
  },
  shared: { ...plain, access: { read: [mine, team] } },
  several: { ...plain, access: { read: [published, mine, team] } },
};
export type PostRules = keyof typeof postDefinitions;

/** What the rules call `$my.teams` and `$my.tenants`. */
const accessDocument = {
  sets: Object.fromEntries(
    ["team", "tenant"].map((field) => [
      `${field}s`,
      { collection: "memberships", where: { user: "$me" }, field },
    ]),
  ),
};

export interface Caller {
  readonly subject: string;
  readonly secret: string;
  readonly teams: readonly string[];
  readonly tenant: string;
}

/** Posts and memberships, and tokens for some of the authors. */
export async function fillPosts(
  origin: string,
  headers: Headers,
  count: number,
): Promise<readonly Caller[]> {
  await define(origin, headers, "memberships", {
    schema: { type: "object", properties: { user: text, team: text, tenant: text } },
    indexed: ["user"],
  });
  await define(origin, headers, "posts", plain);
  const json = { ...headers, "content-type": "application/json" };
  const body = JSON.stringify(accessDocument);
  await request(`${origin}/-/access`, { method: "PUT", headers: json, body }, 200, 201);
  await fill(origin, headers, {
    collection: "posts",
    count,
    recordOf: (number) => post(number, count),
  });
  const authors = authorsOf(count);
  const callers = Math.min(authors, maxCallers);
  const authorAt = (at: number) => Math.floor((at * authors) / callers);
  const teamsAt = (at: number) =>
    Array.from({ length: teamsOfCaller }, (_, each) => teamOf(at * teamsOfCaller + each, count));
  await fill(origin, headers, {
    collection: "memberships",
    count: callers * teamsOfCaller,
    recordOf: (number) => {
      const at = Math.floor((number - 1) / teamsOfCaller);
      const author = authorAt(at);
      const team = teamsAt(at)[(number - 1) % teamsOfCaller];
      return { user: `user${author}`, team, tenant: tenantOf(author) };
    },
  });
  const caller = async (at: number): Promise<Caller> => {
    const subject = `user${authorAt(at)}`;
    const token = JSON.stringify({ name: subject, subject, scopes: ["posts:read"] });
    const init = { method: "POST", headers: json, body: token };
    const issued = JSON.parse(await request(`${origin}/-/tokens`, init, 201)) as Issued;
    return { subject, secret: issued.token, teams: teamsAt(at), tenant: tenantOf(authorAt(at)) };
  };
  return Promise.all(Array.from({ length: callers }, (_, at) => caller(at)));
}

interface Issued {
  readonly token: string;
}
