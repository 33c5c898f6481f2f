// Builds the OpenAPI 3.1 document of the API and its callbacks for this installation, with its brand in the header
// names and its address as the server.

import { networkName } from "../../domain/network.ts";
import type { NetworkFace } from "../../store/network-cache.ts";
import { PROBLEM } from "../answers.ts";
import type { AppDeps } from "../deps.ts";
import type { ApiCall } from "../route.ts";
import { explainSigning, type Instance, securitySchemes } from "./examples.ts";
import { componentSchemas } from "./json-schema.ts";
import { describePaths } from "./operation.ts";
import type { ApiTag, JsonSchema, OpenApiDocument } from "./specification.ts";
import type { DescribedWebhook } from "./webhooks.ts";

/** Calls and callbacks that the document describes. site-modules.ts joins those of the core and of the modules. */
export interface ApiDescription {
	tags: readonly ApiTag[];
	calls: readonly ApiCall[];
	webhooks: readonly DescribedWebhook[];
}

/** Headings of the core's calls, in the order of the reference. */
export const CORE_TAGS: readonly ApiTag[] = [
	{
		name: "Conversions",
		description: "The shop's server reports its sales and reads their status.",
	},
	{ name: "Programme", description: "The shop's server reads the terms that its code depends on." },
	{ name: "Decisions", description: "The shop's server decides, by its own order ID." },
	{
		name: "Callbacks",
		description: "The service sends one callback to the shop's Postback URL for each status change.",
	},
	{ name: "Pixel", description: "The customer's browser reports a sale; the shop's server confirms it." },
	{ name: "Operators", description: "For the operator of the service." },
];

export function describeApi(instance: Instance, api: ApiDescription): OpenApiDocument {
	return {
		openapi: "3.1.1",
		info: {
			title: instance.name ?? "Ringback",
			// This is the version of the API, which is part of its paths. The version of the software changes more often.
			version: "1",
			summary:
				"Conversions of affiliate programmes, and the signed callbacks that announce them to shops and partners",
			description: explainSigning(instance),
		},
		servers: [{ url: instance.publicUrl, description: "This service" }],
		tags: api.tags,
		paths: describePaths(instance, api.calls),
		webhooks: Object.fromEntries(api.webhooks.map(({ name, describe }) => [name, describe(instance)])),
		components: {
			schemas: namedSchemas(api),
			securitySchemes: securitySchemes(instance.brand),
		},
	};
}

function namedSchemas({ calls, webhooks }: ApiDescription): Record<string, JsonSchema> {
	const answers = calls.flatMap((call) => Object.values(call.answers));
	return componentSchemas([
		PROBLEM,
		...answers.flatMap(({ schema = [], mentions = [] }) => [schema, mentions].flat()),
		...webhooks.flatMap(({ bodies }) => bodies),
	]);
}

/** Time for which clients may cache the document. Clients see a new document at most this long after an upgrade. */
const CACHE_SECONDS = 300;

/**
 * Returns a function that returns the current document. The document is generated again if the brand or the
 * name of the network has changed.
 */
export function createApiDocument(
	{ network, publicUrl }: Pick<AppDeps, "network" | "publicUrl">,
	api: ApiDescription,
): () => OpenApiDocument {
	let cached: { face: NetworkFace; document: OpenApiDocument } | null = null;
	return () => {
		const { face } = network;
		if (cached?.face !== face) {
			cached = {
				face,
				document: describeApi({ brand: face.brand, name: networkName(face), publicUrl }, api),
			};
		}
		return cached.document;
	};
}

const DOCUMENT_HEADERS = {
	"content-type": "application/json",
	"cache-control": `public, max-age=${CACHE_SECONDS}`,
	// Scripts of other sites may read the document, because tools that display an API load the document in the browser.
	"access-control-allow-origin": "*",
};

const UTF8 = new TextEncoder();

/** Returns a function that answers GET /openapi.json. */
export function createDocumentAnswer(apiDocument: () => OpenApiDocument): () => Response {
	/** Encoded documents. All answers share one copy, so that slow readers take no extra memory. */
	const bodies = new WeakMap<OpenApiDocument, Uint8Array<ArrayBuffer>>();
	return () => {
		const document = apiDocument();
		const body = bodies.get(document) ?? UTF8.encode(JSON.stringify(document, openAnswers, 2));
		bodies.set(document, body);
		return new Response(body, { headers: DOCUMENT_HEADERS });
	};
}

/**
 * Makes the schemas of answers accept unknown fields and words. Our own schemas are strict, so that no answer
 * changes unnoticed. But a shop that validates answers, or generates code from the document, must not break
 * when an answer gets another field or word. Schemas of requests stay strict, because the service accepts
 * exactly what the document says.
 */
function openAnswers(key: string, value: unknown): unknown {
	return key === "responses" || key === "schemas" ? openAll(value) : value;
}

/**
 * Makes every nested schema accept values that are added later. The values known today stay in the document
 * for people and code generators.
 */
function openAll(part: unknown): unknown {
	return JSON.parse(JSON.stringify(part), (key, value) => {
		if (key === "additionalProperties") return undefined;
		if (!Array.isArray(value?.enum)) return value;
		const { enum: words, type = "string", ...rest } = value;
		return { ...rest, anyOf: [{ enum: words }, { type }] };
	});
}
