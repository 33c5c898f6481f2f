// The stream of events that `ringback listen` reads.

import type { JsonSchema, PathItem } from "../../openapi.ts";
import { EVENTS_QUERY } from "../get-events.ts";
import { problemAnswers } from "./answers.ts";
import { EXAMPLE_PROGRAM_ID, exampleCallback } from "./example-values.ts";
import { type ApiProblemCode, CALLER_CODES, OWN_CODES } from "./problem-list.ts";
import { queryParameters } from "./request-schemas.ts";
import { strictObject } from "./schemas.ts";
import { type Instance, SIGNED, sampleRequest } from "./signing.ts";

const STREAM_CODES: readonly ApiProblemCode[] = [
	"invalid_field",
	"unknown_field",
	"malformed_cursor",
	"too_many_streams",
];

export function streamPaths(instance: Instance): Record<string, PathItem> {
	return {
		"/v1/events": {
			get: {
				operationId: "streamEvents",
				summary: "Follow the programme's events as they happen",
				description:
					"Server-sent events, whether or not a Postback URL is saved: what `ringback listen` reads. It changes nothing of what is delivered to the saved URL. The stream ends after a while, and when the service stops: come back with `after`, signed anew.",
				tags: ["Events"],
				security: SIGNED,
				parameters: queryParameters(EVENTS_QUERY),
				responses: {
					"200": {
						description:
							"First a message `listening` whose `data` says what is listened to (schema `Listening`); then a message for each event, with `event` (its name), `id` (a cursor for `after`) and `data` (the body of its callback, schema `Event`). Lines that begin with a colon, and messages without `data`, only keep the connection and the cursor.",
						content: {
							"text/event-stream": {
								schema: { type: "string" },
								examples: { stream: { value: exampleStream() } },
							},
						},
					},
					...problemAnswers(instance, [...CALLER_CODES, ...STREAM_CODES, ...OWN_CODES]),
				},
				"x-codeSamples": sampleRequest(instance, "GET", "/v1/events?test=true"),
			},
		},
	};
}

/** OpenAPI 3.1 has no place for what a stream is made of: these are named in the answer's description. */
export function streamSchemas(): Record<string, JsonSchema> {
	return {
		Listening: strictObject("The first message of a stream.", {
			programId: { type: "string", description: "Whose events will come.", examples: [EXAMPLE_PROGRAM_ID] },
			testOnly: { type: "boolean", description: "Only those of test conversions." },
		}),
	};
}

function exampleStream(): string {
	const message = (event: string, id: string, data: string) =>
		`event: ${event}\nid: ${id}\ndata: ${data}\n\n`;
	const greeting = JSON.stringify({ programId: EXAMPLE_PROGRAM_ID, testOnly: false });
	return [
		message("listening", "q5mYV0Yb3O6kZyXo0l9kVYVn", greeting),
		message("conversion.recorded", "p6N7Qb2ZrA2fPjX0p6N7Qb2Z", exampleCallback("conversion.recorded")),
	].join("");
}
