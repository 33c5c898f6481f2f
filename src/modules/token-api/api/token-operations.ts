// The calls of the network's and the partners' APIs in the OpenAPI document.

import type * as z from "zod";
import type { Instance } from "#core/api/openapi/examples.ts";
import { jsonSchema } from "#core/api/openapi/json-schema.ts";
import { header, media, problemAnswers, queryParameters } from "#core/api/openapi/operations.ts";
import type {
	ApiResponse,
	HttpMethod,
	Operation,
	Parameter,
	PathItem,
} from "#core/api/openapi/specification.ts";
import { codesOf } from "#core/domain/fault.ts";
import { COMMON_FAULT_KINDS, pathNames, type TokenRoute } from "./route.ts";

export const NETWORK_TAG = "Network API";
export const PARTNER_TAG = "Partner API";

/** Placeholder token for the documentation. It gives access to nothing. */
const EXAMPLE_TOKENS = { [NETWORK_TAG]: "rbn_example", [PARTNER_TAG]: "rbp_example" } as const;

export function describeTokenPaths(
	instance: Instance,
	calls: readonly TokenRoute[],
): Record<string, PathItem> {
	const paths: Record<string, PathItem> = {};
	for (const route of calls) {
		const method = route.method.toLowerCase() as HttpMethod;
		paths[route.path] = { ...paths[route.path], [method]: describe(instance, route) };
	}
	return paths;
}

/** The schemas of all answers, whose named parts become components of the document. */
export function tokenAnswerSchemas(calls: readonly TokenRoute[]): z.ZodType[] {
	return calls.map(({ answers }) => answers.schema);
}

function describe(instance: Instance, route: TokenRoute): Operation {
	const { operationId, summary, description, query, body, sample, faults } = route;
	const tag = route.right === "partner" ? PARTNER_TAG : NETWORK_TAG;
	const right = route.right === "manage" ? " It needs a token that may change." : "";
	const codes = codesOf(...(body === undefined ? [] : (["body"] as const)), ...COMMON_FAULT_KINDS, ...faults);
	const parameters = [
		...pathNames(route).map(pathParameter),
		...(query === undefined ? [] : queryParameters(query)),
		...tagParameters(route),
	];
	return {
		operationId,
		summary,
		description: `${description}${right}`,
		tags: [tag],
		security: [{ apiToken: [] }],
		...(parameters.length === 0 ? {} : { parameters }),
		...(body === undefined
			? {}
			: {
					requestBody: {
						required: true,
						content: { "application/json": media(jsonSchema(body, "input"), sample ?? {}) },
					},
				}),
		responses: { ...successes(route), ...withRetryAfter(problemAnswers(instance, codes)) },
		"x-codeSamples": [{ lang: "Shell", label: "curl with a token", source: writeCurl(instance, route, tag) }],
	};
}

function pathParameter(name: string): Parameter {
	const noun = name.replace(/Id$/, "");
	const description = name.endsWith("Id") ? `The ID of the ${noun}.` : `The ${noun}.`;
	return { name, in: "path", required: true, description, schema: { type: "string" } };
}

function tagParameters({ isResource = false, method, faults }: TokenRoute): Parameter[] {
	const describeHeader = (name: string, description: string): Parameter[] => [
		{ name, in: "header", required: false, description, schema: { type: "string" } },
	];
	if (!isResource) return [];
	if (method === "GET") {
		return describeHeader("If-None-Match", "An ETag. If it is still the current one, the answer is 304.");
	}
	if (!faults.includes("precondition")) return [];
	const text = "An ETag. If it is not the current one, nothing is changed and the answer is 412.";
	return describeHeader("If-Match", text);
}

function successes(route: TokenRoute): Record<string, ApiResponse> {
	const { answers, isResource = false, creates = false, method } = route;
	const { description, schema, example } = answers;
	const headers = isResource ? { headers: { ETag: header("Names this version of the resource.") } } : {};
	const content = { "application/json": media(jsonSchema(schema), example) };
	const ok = { description, ...headers, content };
	return {
		...(creates
			? {
					"201": { ...ok, description: `${description} It was created now.` },
					"200": { ...ok, description: `${description} It was created before, with the same reference.` },
				}
			: { "200": ok }),
		...(isResource && method === "GET" ? { "304": { description: "It has not changed.", ...headers } } : {}),
	};
}

/** Adds the header Retry-After to the answers about rate limits. */
function withRetryAfter(answers: Record<string, ApiResponse>): Record<string, ApiResponse> {
	const limited = answers["429"];
	if (limited === undefined) return answers;
	const text = "Seconds to wait before the request is sent again.";
	return { ...answers, "429": { ...limited, headers: { "Retry-After": header(text, "^[0-9]+$") } } };
}

function writeCurl(
	{ publicUrl }: Instance,
	{ method, path, body, sample }: TokenRoute,
	tag: keyof typeof EXAMPLE_TOKENS,
): string {
	const lines = [
		`curl ${method === "GET" ? "" : `-X ${method} `}'${publicUrl}${path}'`,
		`-H 'Authorization: Bearer ${EXAMPLE_TOKENS[tag]}'`,
		...(body === undefined
			? []
			: ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(sample ?? {})}'`]),
	];
	return lines.join(" \\\n  ");
}
