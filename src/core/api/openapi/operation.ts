// Describes calls in the OpenAPI document, and adds what all calls by one kind of caller have in common (credentials,
// refusals, the form of the example request).

import type * as z from "zod";
import {
	type ApiFaultCode,
	codesOf,
	exampleFault,
	explainFault,
	type FaultKind,
	problemBody,
} from "../../domain/fault.ts";
import { type AnswerForm, type ApiCall, pathNames } from "../route.ts";
import { composeExample } from "./composed-example.ts";
import { type Instance, sampleTokenRequest, signedSampleRequest } from "./examples.ts";
import { jsonSchema } from "./json-schema.ts";
import type {
	ApiResponse,
	HttpMethod,
	JsonSchema,
	MediaType,
	Operation,
	Parameter,
	PathItem,
} from "./specification.ts";

/** Credentials that each kind of caller sends. */
const SECURITY: Readonly<Record<ApiCall["caller"], Operation["security"]>> = {
	shop: [{ apiKey: [], timestamp: [], nonce: [], signature: [] }],
	token: [{ apiToken: [] }],
	anyone: [],
};

export function describePaths(instance: Instance, calls: readonly ApiCall[]): Record<string, PathItem> {
	const paths: Record<string, PathItem> = {};
	for (const call of calls) {
		const method = call.method.toLowerCase() as HttpMethod;
		paths[call.path] = { ...paths[call.path], [method]: describeCall(instance, call) };
	}
	return paths;
}

function describeCall(instance: Instance, call: ApiCall): Operation {
	const { operationId, summary, tag, query, body } = call;
	const needsManage = call.caller === "token" && call.right === "manage";
	const parameters = [
		...pathNames(call).map((name) => pathParameter(name, call)),
		...(query === undefined ? [] : queryParameters(query)),
		...tagParameters(call),
	];
	const samples = sampleRequests(instance, call);
	return {
		operationId,
		summary,
		description: `${call.description}${needsManage ? " It needs a token that may change." : ""}`,
		tags: [tag],
		security: SECURITY[call.caller],
		...(parameters.length === 0 ? {} : { parameters }),
		...(body === undefined ? {} : { requestBody: requestBody(body, sampleBody(call)) }),
		responses: { ...successes(call), ...refusals(instance, call) },
		...(samples === undefined ? {} : { "x-codeSamples": samples }),
	};
}

function pathParameter(name: string, { pathParameters = {} }: ApiCall): Parameter {
	const noun = name.replace(/Id$/, "");
	const description = name.endsWith("Id") ? `The ID of the ${noun}.` : `The ${noun}.`;
	return {
		name,
		in: "path",
		required: true,
		schema: { type: "string" },
		description,
		...pathParameters[name],
	};
}

function queryParameters(schema: z.ZodObject): Parameter[] {
	const { properties = {}, required = [] } = jsonSchema(schema, "input");
	return Object.entries(properties).map(([name, { description = "", examples, ...property }]) => ({
		name,
		in: "query",
		required: required.includes(name),
		description,
		schema: property,
		...(examples?.[0] === undefined ? {} : { example: examples[0] }),
	}));
}

/** Returns the headers with which a caller names a version of a resource. */
function tagParameters(call: ApiCall): Parameter[] {
	if (call.caller !== "token" || !call.isResource) return [];
	const describeHeader = (name: string, description: string): Parameter[] => [
		{ name, in: "header", required: false, description, schema: { type: "string" } },
	];
	if (call.method === "GET") {
		return describeHeader("If-None-Match", "An ETag. If it is still the current one, the answer is 304.");
	}
	if (!call.faults.includes("precondition")) return [];
	const text = "An ETag. If it is not the current one, nothing is changed and the answer is 412.";
	return describeHeader("If-Match", text);
}

export function sampleBody({ body, sample }: Pick<ApiCall, "body" | "sample">): object | undefined {
	if (body === undefined || sample !== undefined) return sample;
	// The cast is safe, because the example of an object schema is an object.
	return composeExample(body, "required") as object;
}

/** Describes the body that a caller may send. Fields with a default may be left out. */
function requestBody(schema: z.ZodObject, sample: object | undefined) {
	const content = { "application/json": media(jsonSchema(schema, "input"), sample) };
	return { required: true as const, content };
}

function successes(call: ApiCall): Record<string, ApiResponse> {
	const isResource = call.caller === "token" && call.isResource;
	const headers = isResource ? { headers: { ETag: header("Names this version of the resource.") } } : {};
	const answers = Object.entries(call.answers).map(([status, form]) => {
		const { description } = form;
		return [status, { description, ...headers, content: answerContent(form) }] as const;
	});
	return {
		...Object.fromEntries(answers),
		...(isResource && call.method === "GET"
			? { "304": { description: "It has not changed.", ...headers } }
			: {}),
	};
}

function answerContent({ mediaType = "application/json", schema, example }: AnswerForm) {
	if (schema === undefined) return { [mediaType]: {} };
	return { [mediaType]: media(jsonSchema(schema), example ?? composeExample(schema)) };
}

function media(schema: JsonSchema, value: unknown): MediaType {
	return { schema, examples: { example: { value } } };
}

/** Kinds of faults with which every call with a token can be refused. */
const TOKEN_FAULTS = ["token", "token rate", "fields", "own"] as const satisfies readonly FaultKind[];

/** Returns the codes with which a call can be refused. */
function refusalCodes(call: ApiCall): readonly ApiFaultCode[] {
	const ofBody = call.body === undefined ? [] : (["body"] as const);
	switch (call.caller) {
		case "shop":
			return codesOf(...ofBody, "caller", ...call.faults, "own");
		case "token":
			return codesOf(...new Set([...ofBody, ...TOKEN_FAULTS, ...call.faults]));
		case "anyone":
			return [...codesOf(...call.faults), ...(call.codes ?? [])];
	}
}

/** Returns the refusals of a call, one answer for each HTTP status, with the fault codes that have this status. */
function refusals(instance: Instance, call: ApiCall): Record<string, ApiResponse> {
	const byStatus = [...Map.groupBy(refusalCodes(call), (code) => explainFault(code).status)];
	return Object.fromEntries(
		byStatus.map(([status, codes]) => {
			const headers = call.caller === "token" && status === 429 ? RETRY_AFTER : HEADERS_BY_STATUS[status];
			return [String(status), { ...describeProblem(instance, status, codes), ...(headers && { headers }) }];
		}),
	);
}

function describeProblem(instance: Instance, status: number, codes: readonly ApiFaultCode[]): ApiResponse {
	const [first = "internal", ...others] = codes;
	const properties = { code: { enum: codes }, status: { const: status } };
	const schema = { allOf: [{ $ref: "#/components/schemas/Problem" }, { type: "object", properties }] };
	const example = problemBody(instance, exampleFault(first, instance.brand));
	return {
		description: others.length === 0 ? explainFault(first).meaning : "Refused. The code says why.",
		content: { "application/problem+json": media(schema, example) },
	};
}

const RETRY_AFTER = {
	"Retry-After": header("Seconds to wait before the request is sent again.", "^[0-9]+$"),
};
const HEADERS_BY_STATUS: Readonly<Record<number, NonNullable<ApiResponse["headers"]>>> = {
	401: { "WWW-Authenticate": header("The authentication scheme, Bearer.") },
	503: RETRY_AFTER,
};

function header(description: string, pattern = "^.+$") {
	return { description, required: true, schema: { type: "string", pattern } };
}

/** Returns samples of the call, or undefined if there are none. */
function sampleRequests(instance: Instance, call: ApiCall): Operation["x-codeSamples"] {
	const query = call.sampleQuery === undefined ? "" : `?${call.sampleQuery}`;
	const examples = call.pathParameters ?? {};
	const path = call.path.replace(/\{(\w+)\}/g, (place, name: string) => examples[name]?.example ?? place);
	const request = { method: call.method, target: `${path}${query}`, body: sampleBody(call) };
	switch (call.caller) {
		case "shop":
			return [signedSampleRequest(instance, request)];
		case "token":
			return [sampleTokenRequest(instance, request, call.right)];
		case "anyone":
			return call.writeSample === undefined ? undefined : [call.writeSample(instance.publicUrl)];
	}
}
