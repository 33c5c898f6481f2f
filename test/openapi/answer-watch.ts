// Watches the calls of a shop. Each answer must be one that the document describes, each accepted request must match its
// schema, and a request that is refused for its form must not match it.

import { deepEqual, equal, ok } from "node:assert/strict";
import type { JsonSchema } from "#core/api/openapi/specification.ts";
import { type AnswerJson, read, type TestShop } from "#core/api/test-shop.test-support.ts";
import { signedRequest } from "../support/signed-request.ts";
import { type DescribedApi, type DescribedOperation, mediaTypeOf, responseFor } from "./described-api.ts";

/** Codes of refusals because of the form of a request, which a schema can describe. */
const FORM_CODES = [
	"malformed_json",
	"invalid_field",
	"unknown_field",
	"amount_not_a_string",
	"malformed_amount",
	"negative_amount",
	"amount_too_large",
	"too_many_coupon_codes",
	"unknown_event_type",
	"unknown_reason",
	"missing_reason",
];

/** Rules that a schema cannot express, each with a pattern for the values of the query and the text of the body. */
const BEYOND_SCHEMAS: readonly (readonly [why: string, body: RegExp])[] = [
	["a schema does not see half a surrogate pair", /\\ud83d/],
	["invisible characters are described in words", /[\u{200b}\u{202e}]/u],
	["a schema sees a parsed object, which has each key once", /"(\w+)":.*"\1":|\\u0049/],
	["a schema does not know what time it is", /"occurredAt":"(?:2026-03-01T12:05:00\.001Z|1999-[^"]*)"/],
	["times in a query are described in words", /^yesterday\n/],
	["which filters exclude each other is described in words", /^2026-03-01\n2026-03-01\n/],
	[
		"that a refund has either an amount or a value is described in words",
		/"refundId":"R-1",("reason"|"amount":"30\.00".*"basketValue":"70\.00")/,
	],
];

export class AnswerWatch {
	readonly #api: DescribedApi;
	/**
	 * Answers that were seen, such as "recordConversion 422 invalid_field" and "recordConversion 201 RECORDED".
	 */
	readonly seen = new Set<string>();
	readonly formRefusals = { checked: 0, beyond: 0 };
	/** Details and fields of problems, by their code. */
	readonly details = new Map<string, Pick<AnswerJson, "detail" | "field">[]>();

	constructor(api: DescribedApi) {
		this.#api = api;
	}

	/** Returns the shop with its calls watched. */
	over(shop: TestShop): TestShop {
		const request: TestShop["request"] = async (input, init, env) => {
			const url = typeof input === "string" ? `http://localhost${input}` : input;
			const sent = url instanceof Request ? url : new Request(url, init);
			const body = new Uint8Array(await sent.clone().arrayBuffer());
			const response = await shop.request(sent, undefined, env);
			await this.look(sent, body, response);
			return response;
		};
		const call: TestShop["call"] = async (method, target, options) => {
			const signed = { nowMs: shop.deps.clock.nowMs(), ...options };
			return read(await request(signedRequest(method, target, shop.credentials, signed)));
		};
		return { ...shop, request, call };
	}

	async look(request: Request, body: Uint8Array, response: Response): Promise<void> {
		const url = new URL(request.url);
		const described = this.#api.find(request.method, url.pathname);
		const where = `${request.method} ${url.pathname}${url.search}`;
		if (described === undefined) return this.#lookElsewhere(where, response);
		const { operation } = described;
		const answer = responseFor(operation, response.status);
		ok(answer !== undefined, `${where} answered ${response.status}, which is not described`);
		for (const [name, header] of Object.entries(answer.headers ?? {})) {
			const value = response.headers.get(name);
			ok(value !== null || !header.required, `${where} answered ${response.status} without ${name}`);
			if (value !== null) deepEqual(this.#api.flaws(header.schema, value), [], `${where}: ${name}`);
		}
		const contentType = response.headers.get("content-type");
		const media = mediaTypeOf(answer, contentType);
		ok(media !== undefined, `${where} answered ${response.status} as ${contentType}, which is not described`);
		const word = await this.#lookAtBody(where, media.schema, response);
		this.seen.add(`${operation.operationId} ${response.status} ${word}`);
		this.#lookAtRequest(where, described, url, body, response.status, word);
	}

	/** Returns the outcome word, the code of the problem, or an empty text. */
	async #lookAtBody(where: string, schema: JsonSchema | undefined, response: Response): Promise<string> {
		const isJson = /^application\/(?:problem\+)?json$/.test(response.headers.get("content-type") ?? "");
		if (!isJson || schema === undefined) return "";
		const { json } = await read(response.clone());
		deepEqual(this.#api.flaws(schema, json), [], `${where}: ${JSON.stringify(json)}`);
		this.#keepDetail(json);
		return json.code ?? json.outcome ?? "";
	}

	#keepDetail(problem: AnswerJson): void {
		const { code } = problem;
		if (code !== undefined) this.details.set(code, [...(this.details.get(code) ?? []), problem]);
	}

	#lookAtRequest(
		where: string,
		described: DescribedOperation,
		url: URL,
		body: Uint8Array,
		status: number,
		word: string,
	): void {
		const flaws = this.#api.requestFlaws(described, url, body);
		const text = new TextDecoder().decode(body);
		const isTaken = status < 300 && described.operation.operationId !== "loadPixel";
		if (isTaken) deepEqual(flaws, [], `${where} was taken: ${text}`);
		if (!FORM_CODES.includes(word)) return;
		const said = [...url.searchParams.values(), text].join("\n");
		if (BEYOND_SCHEMAS.some(([, pattern]) => pattern.test(said))) {
			this.formRefusals.beyond++;
			return;
		}
		this.formRefusals.checked++;
		ok(flaws.length > 0, `${where} was refused with ${word}, but is as described: ${text}`);
	}

	/** Checks the answer to a request that matches no operation. Only two answers are allowed. */
	async #lookElsewhere(where: string, response: Response): Promise<void> {
		const { json } = await read(response.clone());
		deepEqual(this.#api.flaws(this.#api.schemaNamed("Problem"), json), [], where);
		equal(json.code, response.status === 405 ? "method_not_allowed" : "not_found", where);
		equal(response.headers.has("allow"), response.status === 405, where);
		this.#keepDetail(json);
		this.seen.add(`elsewhere ${response.status} ${json.code}`);
	}
}
