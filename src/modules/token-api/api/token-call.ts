// Handles a call with an API token from its first byte to its answer.
//
//   token found ─▶ rate ─▶ right ─▶ body read ─▶ fields checked ─▶ place ─▶ use case ─▶ answer
//
// A call takes a place only after its body was read, so that a slow sender delays nobody.
//
// A call runs the use case of its page, which checks the holder's permission again in its own transaction.

import * as z from "zod";
import type { AppContext } from "#core/api/deps.ts";
import { readInboundCall } from "#core/api/inbound-log.ts";
import { problemAnswer, SAFE_HEADERS } from "#core/api/problem.ts";
import { checkFields, MAX_BODY_BYTES, parseJson, parseQuery, readBody } from "#core/api/read-request.ts";
import { pathNames } from "#core/api/route.ts";
import type { SignedCalls } from "#core/api/signed-call.ts";
import { TOKEN_RIGHT_WORDS, type TokenRight, tokenGrants } from "#core/domain/api-token.ts";
import { type Fault, fault, faultOf, type Result, refuse, succeed } from "#core/domain/fault.ts";
import { idsOf, recordOf } from "#core/request-notes.ts";
import { isDatabaseUnavailable } from "#core/store/unavailable.ts";
import type { Admission } from "../../../concurrency/admission.ts";
import { createTokenBuckets, type Rate } from "../../../concurrency/rate-limit.ts";
import { createTokenHolders, type KnownToken } from "../use-cases/token-holders.ts";
import { tagOf, tagsMatch } from "./entity-tag.ts";
import type { TokenAnswer, TokenApiDeps, TokenCall, TokenRoute } from "./route.ts";

/**
 * Rate of calls with one token of the network, or with all tokens of a partner. A portal that sets up a whole network
 * makes some thousand calls in a row, and a program that runs wild is slowed down.
 */
export const TOKEN_RATE: Rate = { burst: 1_000, perSecond: 100 };
/**
 * Values of Retry-After. A second after its rate was exceeded, the token has its rate again. The limits of mails last for
 * up to an hour, and their sentence says how long.
 */
const RETRY_AFTER_SECONDS = { rate: 1, mails: 60 } as const;

const NEEDED_WORDS: Readonly<Record<TokenRight, string>> = {
	read: "of the network",
	manage: "of the network that may change everything",
	partner: "of a partner",
};

const TOO_MANY_WAIT = fault(
	"unavailable",
	"More requests wait than we can answer at the moment. Send this one again in a few seconds.",
);

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", ...SAFE_HEADERS };

export function createTokenCalls(
	deps: TokenApiDeps,
	{ admission, refuse: refuseCaller }: { admission: Admission; refuse: SignedCalls["refuse"] },
) {
	const { clock, log, metrics } = deps;
	const holders = createTokenHolders(deps);
	const buckets = createTokenBuckets(TOKEN_RATE);

	function answerFault(found: Fault): Response {
		metrics.countInbound("api", found.code);
		if (found.httpStatus !== 429) return problemAnswer(deps, found);
		const seconds = RETRY_AFTER_SECONDS[found.code === "too_many_calls" ? "rate" : "mails"];
		return problemAnswer(deps, found, { "retry-after": String(seconds) });
	}

	async function answer(c: AppContext, route: TokenRoute, known: KnownToken): Promise<Response> {
		const call = await readCall(c, route, known, clock.nowMs());
		if (!call.ok) return answerFault(call.fault);
		const leave = await admission.admit("tokenCalls", ownerOf(known.token));
		if (leave === undefined) return answerFault(TOO_MANY_WAIT);
		return await runCall(c, route, call.value).finally(leave);
	}

	async function runCall(
		c: AppContext,
		route: TokenRoute,
		call: TokenCall<unknown, unknown>,
	): Promise<Response> {
		await holders.storeUse(call.token);
		const done = await route.handle(call, deps);
		if (!done.ok) return answerFault(done.fault);
		metrics.countInbound("api", "ANSWERED");
		return writeAnswer(c, route, done.value);
	}

	return {
		async serve(c: AppContext, route: TokenRoute): Promise<Response> {
			try {
				const known = await holders.find(c.req.header("authorization"));
				if (!known.ok) return refuseCaller(readInboundCall(c, deps, "api"), known.fault);
				const { token } = known.value;
				// The rate is checked first, so that refused calls count too.
				if (!buckets.take(ownerOf(token), clock.monotonicMs())) {
					// The refusal is delayed, so that a program that runs wild can make only one call a second on each
					// connection.
					await admission.delayRefusal();
					const owner = token.partner_id === null ? "this token" : "all tokens of this partner";
					return answerFault(faultOf("too_many_calls", { owner, perSecond: TOKEN_RATE.perSecond }));
				}
				if (!tokenGrants(token.token_right, route.right)) {
					const words = {
						needed: NEEDED_WORDS[route.right],
						granted: TOKEN_RIGHT_WORDS[token.token_right],
					};
					return answerFault(faultOf("wrong_token", words));
				}
				return await answer(c, route, known.value);
			} catch (error) {
				const about = { ...idsOf(recordOf(c)), method: c.req.method, route: route.path };
				log.error({ err: error, ...about }, "a call with a token failed");
				return answerFault(failureOf(error));
			}
		},
	};
}

/**
 * Returns the key under which calls are counted. All tokens of a partner count together, so that more tokens give a
 * partner no more calls.
 */
function ownerOf({ id, partner_id: partnerId }: KnownToken["token"]): string {
	return partnerId === null ? `token:${id}` : `partner:${partnerId}`;
}

/** Returns the fault for a failure of the service, in words for a caller that does not sign requests. */
function failureOf(error: unknown): Fault {
	const repeat =
		"Send the request again. If it creates something, send its reference again, so that nothing is created twice.";
	return isDatabaseUnavailable(error)
		? fault("unavailable", `The database cannot be used just now. ${repeat}`)
		: fault("internal", `Something failed on our side, and we have a record of it. ${repeat}`);
}

async function readCall(
	c: AppContext,
	route: TokenRoute,
	{ token, holder }: KnownToken,
	nowMs: number,
): Promise<Result<TokenCall<unknown, unknown>>> {
	const query = readQuery(route, new URL(c.req.url).searchParams);
	if (!query.ok) return query;
	const body = await readFields(c, route);
	if (!body.ok) return body;
	const path = Object.fromEntries(pathNames(route).map((name) => [name, c.req.param(name) ?? ""]));
	for (const fields of [path, query.value, body.value]) {
		const name = findNul(fields);
		if (name !== undefined) return refuseNul(name);
	}
	const ifMatch = c.req.header("if-match");
	return succeed({ holder, token, path, query: query.value, body: body.value, ifMatch, nowMs });
}

/**
 * Returns the name of the first text that has a NUL character, such as "commission.percent", or undefined. PostgreSQL can
 * neither store nor compare such a text, and a text with it in a SQLite database could not be moved to PostgreSQL.
 */
function findNul(value: unknown, name = ""): string | undefined {
	if (typeof value === "string") return value.includes("\u0000") ? name : undefined;
	if (typeof value !== "object" || value === null) return undefined;
	for (const [key, part] of Object.entries(value)) {
		const found = findNul(part, name === "" ? key : `${name}.${key}`);
		if (found !== undefined) return found;
	}
	return undefined;
}

function refuseNul(name: string): Result<never> {
	return refuse("invalid_field", `${name} contains a NUL character. Send it without this character.`, name);
}

/** Schema for the query of a call that takes no parameters. */
const NO_QUERY = z.strictObject({});

function readQuery({ query: schema }: TokenRoute, search: URLSearchParams): Result<unknown> {
	const names = parseQuery(search);
	return names.ok ? checkFields(schema ?? NO_QUERY, names.value) : names;
}

async function readFields(c: AppContext, { body: schema }: TokenRoute): Promise<Result<unknown>> {
	if (schema === undefined) return succeed({});
	const bytes = await readBody(c.req.raw, MAX_BODY_BYTES, "Shorten its texts.");
	if (!bytes.ok) return bytes;
	const sent = {
		contentType: c.req.header("content-type"),
		contentEncoding: c.req.header("content-encoding"),
		body: bytes.value,
	};
	const json = parseJson(sent, "Send a JSON object.");
	return json.ok ? checkFields(schema, json.value) : json;
}

function writeAnswer(
	c: AppContext,
	{ isResource, method }: TokenRoute,
	{ body, isNew = false }: TokenAnswer<unknown>,
): Response {
	const text = JSON.stringify(body);
	if (!isResource) return new Response(text, { status: isNew ? 201 : 200, headers: JSON_HEADERS });
	const etag = tagOf(body);
	const headers = { ...JSON_HEADERS, etag };
	if (method === "GET" && tagsMatch(c.req.header("if-none-match"), etag, "weakly")) {
		return new Response(null, { status: 304, headers: { etag, ...SAFE_HEADERS } });
	}
	return new Response(text, { status: isNew ? 201 : 200, headers });
}
