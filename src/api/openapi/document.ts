// The API and its callbacks as an OpenAPI 3.1 document, written for this instance: its brand in the names of the
// headers, its address as the server.

import type { OpenApiDocument, Tag } from "../../openapi.ts";
import { conversionPaths } from "./conversion-operations.ts";
import { decisionPaths } from "./decision-operations.ts";
import { listProblems } from "./problem-list.ts";
import { openToMore } from "./published.ts";
import { answerSchemas } from "./schemas.ts";
import { explainSigning, type Instance, securitySchemes } from "./signing.ts";
import { streamPaths, streamSchemas } from "./stream-operation.ts";
import { unsignedPaths } from "./unsigned-operations.ts";
import { callbackSchemas, webhooks } from "./webhooks.ts";

const TAGS: readonly Tag[] = [
	{
		name: "Conversions",
		description: "The shop's server reports its sales and looks at what became of them.",
	},
	{ name: "Decisions", description: "The shop's server decides, by its own order id." },
	{ name: "Events", description: "The status changes as a stream, for developers." },
	{
		name: "Callbacks",
		description: "What the service sends to the shop's Postback URL, once for each status change.",
	},
	{ name: "Pixel", description: "The customer's browser reports a sale; the shop's server confirms it." },
	{ name: "Operators", description: "For whoever runs the service." },
];

export function describeApi(instance: Instance): OpenApiDocument {
	return {
		openapi: "3.1.1",
		info: {
			title: "Ringback",
			// Of the API, as in its paths: the software's own version changes more often.
			version: "1",
			summary: "Conversions of affiliate programmes, and the signed callbacks that tell shops of them",
			description: explainSigning(instance),
		},
		servers: [{ url: instance.publicUrl, description: "This service" }],
		tags: TAGS,
		paths: {
			...conversionPaths(instance),
			...decisionPaths(instance),
			...streamPaths(instance),
			...unsignedPaths(instance),
		},
		webhooks: webhooks(instance),
		components: {
			schemas: { ...answerSchemas(), ...callbackSchemas(), ...streamSchemas() },
			securitySchemes: securitySchemes(instance.brand),
		},
		"x-problems": listProblems(),
	};
}

/** As long as an upgrade may take to show. */
const CACHE_SECONDS = 300;

/** The answer to GET /openapi.json. Open to scripts of other sites: tools that show or try an API load it so. */
export function createDocumentAnswer(document: OpenApiDocument): () => Response {
	const text = JSON.stringify(openToMore(document), null, "\t");
	const headers = {
		"content-type": "application/json",
		"cache-control": `public, max-age=${CACHE_SECONDS}`,
		"access-control-allow-origin": "*",
	};
	return () => new Response(text, { headers });
}
