// A site with API tokens for tests. Every answer to a call with a token is held against the OpenAPI document.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { describeApi } from "#core/api/openapi/document.ts";
import type { Person } from "#core/store/queries/people.ts";
import type { Store } from "#core/store/store.ts";
import {
	type Browser,
	createTestSite,
	openTestSite,
	PASSWORD,
	type SiteOptions,
	type TestSite,
} from "#core/web/test-site.test-support.ts";
import { API } from "../../src/site-modules.ts";
import { DescribedApi, mediaTypeOf, responseFor } from "./described-api.ts";

const PUBLIC_URL = "https://ringback.example";
const document = describeApi({ brand: "Service", publicUrl: PUBLIC_URL }, API);
const api = new DescribedApi(document);

export interface TokenAnswer {
	status: number;
	headers: Headers;
	/** The parsed body, or an empty object for an answer without one. */
	json: Readonly<Record<string, unknown>>;
}

export interface CallInput {
	body?: unknown;
	headers?: Readonly<Record<string, string>>;
	/** Token to send instead of the usual one, or null to send none. */
	token?: string | null;
}

export type Call = (method: string, target: string, input?: CallInput) => Promise<TokenAnswer>;

export interface TokenSite {
	site: TestSite;
	staff: Person;
	/** Browser of the member of staff who issued the tokens. */
	browser: Browser;
	/** Tokens of the network, by their right. */
	tokens: Readonly<Record<"read" | "manage", string>>;
	/** Makes a call with the token whose right is "manage". */
	call: Call;
	/** Answers that were seen, such as "createProgramme 409 reference_used". */
	seen: Set<string>;
}

export async function openTokenSite(
	t: TestContext,
	change: NonNullable<SiteOptions["change"]> = {},
): Promise<TokenSite> {
	return prepare(await openTestSite(t, { hasMail: true, change }));
}

/** Opens a site over a store that is already migrated. */
export function openTokenSiteOver(store: Store): Promise<TokenSite> {
	return prepare(createTestSite(store, { hasMail: true }));
}

async function prepare(site: TestSite): Promise<TokenSite> {
	const staff = await site.addStaff();
	const browser = await site.signIn(staff);
	const tokens = {
		read: await issueOnPage(browser, "/network/tokens", { name: "Warehouse", right: "read" }),
		manage: await issueOnPage(browser, "/network/tokens", { name: "Portal", right: "manage" }),
	};
	const seen = new Set<string>();
	return { site, staff, browser, tokens, seen, call: createCall(site, tokens.manage, seen) };
}

/** Issues a token on its page, and returns it as the page shows it. */
export async function issueOnPage(
	browser: Browser,
	path: string,
	fields: Readonly<Record<string, string>>,
): Promise<string> {
	const { status, text } = await browser.submit(path, { ...fields, currentPassword: PASSWORD });
	equal(status, 200, text);
	const [token] = /rb[np]_[0-9a-f]{64}/.exec(text) ?? [];
	ok(token, text);
	return token;
}

/** Returns a function that makes calls with a token, and checks that each answer is described. */
export function createCall(site: TestSite, token: string, seen = new Set<string>()): Call {
	const program = site.browser();
	return async (method, target, { body, headers = {}, token: other = token } = {}) => {
		const shown = await program.send(target, {
			method,
			headers: {
				...(other === null ? {} : { authorization: `Bearer ${other}` }),
				...(body === undefined ? {} : { "content-type": "application/json" }),
				...headers,
			},
			...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
		});
		const json = shown.text === "" ? {} : JSON.parse(shown.text);
		seen.add(checkAnswer(method, target, body, { ...shown, json }));
		return { status: shown.status, headers: shown.headers, json };
	};
}

function checkAnswer(method: string, target: string, body: unknown, answer: TokenAnswer): string {
	const url = new URL(target, PUBLIC_URL);
	const described = api.find(method, url.pathname);
	const where = `${method} ${target}: ${answer.status} ${JSON.stringify(answer.json)}`;
	ok(described !== undefined, `${where} is not described`);
	const { operation } = described;
	const response = responseFor(operation, answer.status);
	ok(response !== undefined, `${where} is not described`);
	for (const name of Object.keys(response.headers ?? {}))
		ok(answer.headers.has(name), `${where}: no ${name}`);
	if (response.content !== undefined) {
		const media = mediaTypeOf(response, answer.headers.get("content-type"));
		deepEqual(api.flaws(media?.schema ?? { not: {} }, answer.json), [], where);
	}
	if (answer.status < 300) {
		const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body ?? null));
		deepEqual(api.requestFlaws(described, url, bytes), [], `${where} was accepted`);
	}
	const code = answer.status < 400 ? "" : String(answer.json["code"]);
	return `${operation.operationId} ${answer.status} ${code}`.trim();
}

/** Returns the text of a field of an answer, which must be there. */
export function textOf(value: unknown, ...path: readonly (string | number)[]): string {
	const found = path.reduce<unknown>((part, name) => Object(part)[name], value);
	ok(typeof found === "string", `${path.join(".")} in ${JSON.stringify(value)}`);
	return found;
}

/** Returns the number of items of a list. */
export function countOf({ json }: TokenAnswer): number {
	const { items } = json;
	ok(Array.isArray(items), JSON.stringify(json));
	return items.length;
}
