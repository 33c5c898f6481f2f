// The API and its callbacks as an OpenAPI 3.1 document, written for this instance: its brand in the names of the
// headers, its address as the server.

import { networkName } from "../../domain/network.ts";
import type { NetworkFace } from "../../store/queries/known-network.ts";
import { BATCH_BODY, CONVERSION_PAGE, LISTENING, ONE_CONVERSION, PROBLEM, SIGNED_EVENT } from "../answers.ts";
import type { AppDeps } from "../deps.ts";
import { exampleConversion, explainSigning, type Instance, securitySchemes } from "./examples.ts";
import { componentSchemas } from "./json-schema.ts";
import { describePaths } from "./operations.ts";
import type { JsonSchema, OpenApiDocument } from "./specification.ts";
import { CALLBACK_BODIES, webhooks } from "./webhooks.ts";

const TAGS: OpenApiDocument["tags"] = [
	{
		name: "Conversions",
		description: "The shop's server reports its sales and reads their status.",
	},
	{ name: "Decisions", description: "The shop's server decides, by its own order ID." },
	{ name: "Events", description: "The status changes as a stream, for developers." },
	{
		name: "Callbacks",
		description: "What the service sends to the shop's Postback URL, once for each status change.",
	},
	{ name: "Pixel", description: "The customer's browser reports a sale; the shop's server confirms it." },
	{ name: "Operators", description: "For the operator of the service." },
];

export function describeApi(instance: Instance): OpenApiDocument {
	return {
		openapi: "3.1.1",
		info: {
			title: instance.name ?? "Ringback",
			// Of the API, as in its paths: the software's own version changes more often.
			version: "1",
			summary: "Conversions of affiliate programmes, and the signed callbacks that tell shops of them",
			description: explainSigning(instance),
		},
		servers: [{ url: instance.publicUrl, description: "This service" }],
		tags: TAGS,
		paths: describePaths(instance),
		webhooks: webhooks(instance),
		components: {
			schemas: namedSchemas(),
			securitySchemes: securitySchemes(instance.brand),
		},
	};
}

function namedSchemas(): Record<string, JsonSchema> {
	const schemas = componentSchemas([
		BATCH_BODY,
		CONVERSION_PAGE,
		ONE_CONVERSION,
		PROBLEM,
		...CALLBACK_BODIES,
		LISTENING,
		SIGNED_EVENT,
	]);
	// Added here: the example has the schema's type, so the schema cannot refer to it.
	const conversion = { ...schemas["Conversion"], examples: [exampleConversion("conversion.recorded")] };
	return { ...schemas, Conversion: conversion };
}

/** As long as an upgrade may take to show. */
const CACHE_SECONDS = 300;

/** As it stands now: made anew when the network has changed its brand or its name. */
export function createApiDocument({
	network,
	publicUrl,
}: Pick<AppDeps, "network" | "publicUrl">): () => OpenApiDocument {
	let known: { face: NetworkFace; document: OpenApiDocument } | null = null;
	return () => {
		const { face } = network;
		if (known?.face !== face) {
			known = { face, document: describeApi({ brand: face.brand, name: networkName(face), publicUrl }) };
		}
		return known.document;
	};
}

const DOCUMENT_HEADERS = {
	"content-type": "application/json",
	"cache-control": `public, max-age=${CACHE_SECONDS}`,
	// Open to scripts of other sites: tools that show or try an API load it so.
	"access-control-allow-origin": "*",
};

const UTF8 = new TextEncoder();

/** The answer to GET /openapi.json. */
export function createDocumentAnswer(apiDocument: () => OpenApiDocument): () => Response {
	/** Sent to everybody from one place in memory: whoever reads slowly holds no copy. */
	const bodies = new WeakMap<OpenApiDocument, Uint8Array<ArrayBuffer>>();
	return () => {
		const document = apiDocument();
		const body = bodies.get(document) ?? UTF8.encode(JSON.stringify(document, openAnswers, "\t"));
		bodies.set(document, body);
		return new Response(body, { headers: DOCUMENT_HEADERS });
	};
}

/**
 * The document as shops get it. Ours is strict, so that no answer changes unnoticed; theirs must go on holding when
 * an answer gains a field or a word: a shop that checks or generates by it would break on that day. Requests stay
 * strict: what we take is exactly what is said.
 */
function openAnswers(key: string, value: unknown): unknown {
	return key === "responses" || key === "schemas" ? openAll(value) : value;
}

/** Every schema in it. What is known today stays, for people and for generators. */
function openAll(part: unknown): unknown {
	return JSON.parse(JSON.stringify(part), (key, value) => {
		if (key === "additionalProperties") return undefined;
		if (!Array.isArray(value?.enum)) return value;
		const { enum: known, type = "string", ...rest } = value;
		return { ...rest, anyOf: [{ enum: known }, { type }] };
	});
}
