// An operation of the reference, from what is particular about it: what all signed calls have in common (who may
// call, how to be refused, an example request) is added here.

import type * as z from "zod";
import { type ApiFaultCode, fault } from "../../domain/fault.ts";
import type { ApiResponse, JsonSchema, Operation } from "../../openapi.ts";
import { problemBody } from "../problem.ts";
import { jsonSchema } from "./json-schema.ts";
import { BODY_CODES, CALLER_CODES, OWN_CODES, problemEntry, statusOf } from "./problem-list.ts";
import { type Instance, SIGNED, sampleRequest } from "./signing.ts";

const CODES_IN_ONE_SENTENCE = 4;

export interface SignedCall
	extends Pick<Operation, "operationId" | "summary" | "description" | "parameters" | "responses"> {
	tag: string;
	/** Of a POST. The first example is the one of the sample request. */
	body?: {
		description: string;
		schema: JsonSchema;
		examples: Record<string, { summary?: string; value: object }>;
	};
	/** Besides those that every signed call can answer. */
	codes: readonly ApiFaultCode[];
	sampleTarget: string;
}

export function signedOperation(instance: Instance, call: SignedCall): Operation {
	const { tag, body, codes, sampleTarget, responses, ...own } = call;
	const allCodes = [...(body === undefined ? [] : BODY_CODES), ...CALLER_CODES, ...codes, ...OWN_CODES];
	const [sample] = Object.values(body?.examples ?? {});
	return {
		...own,
		tags: [tag],
		security: SIGNED,
		...(body === undefined ? {} : { requestBody: requestBody(body) }),
		responses: { ...responses, ...problemAnswers(instance, allCodes) },
		"x-codeSamples":
			sample === undefined
				? sampleRequest(instance, "GET", sampleTarget)
				: sampleRequest(instance, "POST", sampleTarget, JSON.stringify(sample.value)),
	};
}

function requestBody({
	description,
	...media
}: NonNullable<SignedCall["body"]>): NonNullable<Operation["requestBody"]> {
	return { required: true, description, content: { "application/json": media } };
}

/** The example is one that the schema's own type allows. */
export function jsonAnswer<Schema extends z.ZodType>(
	description: string,
	schema: Schema,
	exampleName: string,
	example: z.output<Schema>,
): ApiResponse {
	const examples = { [exampleName]: { value: example } };
	return { description, content: { "application/json": { schema: jsonSchema(schema), examples } } };
}

/** One response a status, with exactly the codes that this operation can answer. */
export function problemAnswers(
	instance: Instance,
	codes: readonly ApiFaultCode[],
): Record<string, ApiResponse> {
	const byStatus = [...Map.groupBy(codes, statusOf)];
	return Object.fromEntries(
		byStatus.map(([status, ofStatus]) => [String(status), problemAnswer(instance, status, ofStatus)]),
	);
}

function problemAnswer(instance: Instance, status: number, codes: readonly ApiFaultCode[]): ApiResponse {
	const [first] = codes;
	const headers = HEADERS_BY_STATUS[status];
	return {
		description: describeCodes(codes),
		...(headers === undefined ? {} : { headers }),
		content: {
			"application/problem+json": {
				schema: {
					allOf: [
						{ $ref: "#/components/schemas/Problem" },
						{ type: "object", properties: { code: { enum: codes }, status: { const: status } } },
					],
				},
				...(first === undefined ? {} : { examples: { [first]: { value: exampleProblem(instance, first) } } }),
			},
		},
	};
}

const HEADERS_BY_STATUS: Readonly<Record<number, NonNullable<ApiResponse["headers"]>>> = {
	401: {
		"WWW-Authenticate": {
			description: "Names the scheme: Bearer.",
			required: true,
			schema: { type: "string" },
		},
	},
	503: {
		"Retry-After": {
			description: "Seconds to wait before the request is sent again.",
			required: true,
			schema: { type: "string", pattern: "^[0-9]+$" },
		},
	},
};

function describeCodes(codes: readonly ApiFaultCode[]): string {
	const [only, ...others] = codes;
	if (only !== undefined && others.length === 0) return problemEntry(only).meaning;
	const shown = codes.slice(0, CODES_IN_ONE_SENTENCE).map((code) => `\`${code}\``);
	const rest = codes.length - shown.length;
	return `Refused: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}. The code says why.`;
}

function exampleProblem(instance: Instance, code: ApiFaultCode): object {
	const { meaning, remedy } = problemEntry(code);
	return problemBody(instance, fault(code, `${meaning} ${remedy}`.replaceAll("`", "")));
}
