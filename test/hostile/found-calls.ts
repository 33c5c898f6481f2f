// Finds every call of the APIs with all its texts, in the OpenAPI document.

import { ok } from "node:assert/strict";
import { describeApi } from "#core/api/openapi/document.ts";
import type { JsonSchema, Operation } from "#core/api/openapi/specification.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { issueKey } from "#core/programmes/keys.ts";
import type { EveryPage } from "#core/web/every-page.test-support.ts";
import { type Browser, PASSWORD, type Shown } from "#core/web/test-site.test-support.ts";
import { API } from "../../src/site-modules.ts";
import { expectValue } from "../support/shop-account.ts";
import { type Credentials, signedRequest } from "../support/signed-request.ts";

export interface FoundCall {
	/** Method and path, such as "POST /v1/conversions". */
	name: string;
	texts: readonly CallText[];
	send(change?: CallChange): Promise<Shown>;
}

/** What of a call is sent instead: one of its texts, or the whole body. */
export type CallChange = { text: CallText; value: string } | { body: string };

/** A text of a call: a parameter, a header, or a string in the body. */
export interface CallText {
	in: "path" | "query" | "header" | "body";
	/** Keys that lead to a string in the body, or the name of the parameter. */
	keys: readonly (string | number)[];
	/** What the document says of it. Texts with the same name and description have the same parser. */
	schema: JsonSchema;
}

interface Caller {
	browser: Browser;
	network: string;
	partner: string;
	shop: Credentials;
	/** Returns the value of a parameter of a path. */
	parameterOf(name: string): string;
}

export async function findCalls(service: EveryPage): Promise<FoundCall[]> {
	const caller = await prepareCaller(service);
	const { paths, components } = describeApi({ brand: "Service", publicUrl: "https://ringback.example" }, API);
	return Object.entries(paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, operation]): FoundCall => {
			const name = `${method.toUpperCase()} ${path}`;
			const schema = operation.requestBody?.content["application/json"]?.schema ?? {};
			const texts: CallText[] = [
				...(operation.parameters ?? []).map((each) => ({
					in: each.in,
					keys: [each.name],
					schema: each.schema,
				})),
				...stringsOf(schema, components.schemas).map((found) => ({ in: "body" as const, ...found })),
			];
			return { name, texts, send: (change) => sendCall(service, caller, { name, operation }, change) };
		}),
	);
}

/** Issues tokens of the network and of a partner, and an API key of a shop with one sale. */
async function prepareCaller({ shop: { site }, visit, parameterOf }: EveryPage): Promise<Caller> {
	const staff = await visit("staff");
	const issue = async (path: string, fields: Readonly<Record<string, string>>) => {
		const { text } = await staff.submit(path, {
			name: "Program",
			days: "",
			currentPassword: PASSWORD,
			...fields,
		});
		const [token] = /rb[np]_[0-9a-f]{64}/.exec(text) ?? [];
		ok(token, text);
		return token;
	};
	const browser = site.browser();
	const programme = await site.addProgramme("Calls");
	const issued = expectValue(await issueKey(site.deps, programme.public_id, COMMAND_LINE));
	const shop = { key: issued.key, secret: issued.secret ?? "" };
	const body = { orderId: "ORDER-1001", basketValue: "129.90" };
	const sale = signedRequest("POST", "/v1/conversions", shop, { body, nowMs: browser.nowMs() });
	const { text } = await browser.send("/v1/conversions", await initOf(sale));
	const own: Readonly<Record<string, string>> = {
		id: JSON.parse(text).conversion.id,
		programId: programme.public_id,
		code: "filled",
	};
	return {
		browser,
		network: await issue("/network/tokens", { right: "manage" }),
		partner: await issue(`/partner/${parameterOf("partnerId")}/api`, {}),
		shop,
		parameterOf: (name) => own[name] ?? parameterOf(name),
	};
}

async function initOf(request: Request) {
	const { method } = request;
	const headers = Object.fromEntries(request.headers);
	return method === "GET" ? { method, headers } : { method, headers, body: await request.arrayBuffer() };
}

async function sendCall(
	{ shop: { site } }: EveryPage,
	{ browser, network, partner, shop, parameterOf }: Caller,
	{ name, operation }: { name: string; operation: Operation },
	change: CallChange | undefined,
): Promise<Shown> {
	const [method = "", template = ""] = name.split(" ");
	const changed = (place: CallText["in"]): Readonly<Record<string, string>> =>
		change !== undefined && "text" in change && change.text.in === place
			? { [String(change.text.keys[0])]: change.value }
			: {};
	const path = template.replace(/\{(\w+)\}/g, (_, key: string) =>
		encodeURIComponent((changed("path")[key] ?? parameterOf(key)).toWellFormed()),
	);
	const query = String(new URLSearchParams(changed("query")));
	const target = query === "" ? path : `${path}?${query}`;
	const body = bodyOf(operation, change);
	const own = Object.fromEntries(
		Object.entries(changed("header")).map(([header, value]) => [header.toLowerCase(), headerText(value)]),
	);
	// Rates and delays are not what these tests are about.
	site.moveClock(1_000);
	if (operation.security.some((scheme) => "apiKey" in scheme)) {
		const options = { ...(body === undefined ? {} : { body }), nowMs: browser.nowMs(), headers: own };
		return browser.send(target, await initOf(signedRequest(method, target, shop, options)));
	}
	const token = template.startsWith("/v1/partner/") ? partner : network;
	const authorization = operation.security.length === 0 ? {} : { authorization: `Bearer ${token}` };
	const json = body === undefined ? {} : { "content-type": "application/json" };
	const headers = { ...authorization, ...json, ...own };
	return browser.send(target, { method, headers, ...(body === undefined ? {} : { body }) });
}

/** Returns the example of the document, with a text in its place, as JSON. */
function bodyOf({ requestBody }: Operation, change: CallChange | undefined): string | undefined {
	const [example] = Object.values(requestBody?.content["application/json"]?.examples ?? {});
	if (example === undefined) return undefined;
	if (change === undefined) return JSON.stringify(example.value);
	if ("body" in change) return change.body;
	const isInBody = change.text.in === "body";
	return JSON.stringify(isInBody ? place(example.value, change.text.keys, change.value) : example.value);
}

function place(into: unknown, [key, ...rest]: CallText["keys"], value: string): unknown {
	if (key === undefined) return value;
	if (typeof key === "number") return [place(Array.isArray(into) ? into[0] : undefined, rest, value)];
	const object = (into ?? {}) as Record<string, unknown>;
	return { ...object, [key]: place(object[key], rest, value) };
}

/** Returns the bytes of a text as a header can have them, without control characters and white space at its ends. */
export function headerText(text: string): string {
	return Buffer.from(text)
		.toString("latin1")
		.replace(/\p{Cc}/gu, " ")
		.trim();
}

function stringsOf(
	schema: JsonSchema,
	named: Readonly<Record<string, JsonSchema>>,
): { keys: (string | number)[]; schema: JsonSchema }[] {
	const { $ref, properties = {}, items, type, oneOf = [], anyOf = [], allOf = [] } = schema;
	const under = (key: string | number, part: JsonSchema) =>
		stringsOf(part, named).map((found) => ({ ...found, keys: [key, ...found.keys] }));
	const found = [
		...([type].flat().includes("string") ? [{ keys: [], schema }] : []),
		...($ref === undefined ? [] : stringsOf(named[$ref.split("/").at(-1) ?? ""] ?? {}, named)),
		...Object.entries(properties).flatMap(([key, part]) => under(key, part)),
		...(items === undefined ? [] : under(0, items)),
		...[...oneOf, ...anyOf, ...allOf].flatMap((part) => stringsOf(part, named)),
	];
	// Alternatives have mostly the same fields.
	return [...new Map(found.map((each) => [each.keys.join("."), each])).values()];
}
