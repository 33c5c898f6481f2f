// The answers of an operation: what it says when all is well, and which problems it can answer under which
// status.

import { fault } from "../../domain/fault.ts";
import type { ApiResponse, JsonSchema } from "../../openapi.ts";
import { problemJson } from "../problem.ts";
import { type ApiProblemCode, listProblems, statusOf } from "./problem-list.ts";
import type { Instance } from "./signing.ts";

const CODES_IN_ONE_SENTENCE = 4;

export function jsonAnswer(
	description: string,
	schema: JsonSchema,
	examples: Record<string, unknown>,
): ApiResponse {
	return {
		description,
		content: {
			"application/json": {
				schema,
				examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
			},
		},
	};
}

/** One response a status, with exactly the codes that this operation can answer. */
export function problemAnswers(
	instance: Instance,
	codes: readonly ApiProblemCode[],
): Record<string, ApiResponse> {
	const byStatus = Map.groupBy(codes, statusOf);
	return Object.fromEntries(
		[...byStatus]
			.sort(([one], [other]) => one - other)
			.map(([status, ofStatus]) => [String(status), problemAnswer(instance, status, ofStatus)]),
	);
}

function problemAnswer(instance: Instance, status: number, codes: readonly ApiProblemCode[]): ApiResponse {
	const [first] = codes;
	const headers = HEADERS_BY_STATUS[status];
	return {
		description: describe(codes),
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

function describe(codes: readonly ApiProblemCode[]): string {
	const meanings = new Map(listProblems().map(({ code, meaning }) => [code, meaning]));
	const [only] = codes;
	if (codes.length === 1 && only !== undefined) return meanings.get(only) ?? "";
	const shown = codes.slice(0, CODES_IN_ONE_SENTENCE).map((code) => `\`${code}\``);
	const rest = codes.length - shown.length;
	return `Refused: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}. The code says why.`;
}

function exampleProblem(instance: Instance, code: ApiProblemCode): object {
	const entry = listProblems().find((problem) => problem.code === code);
	const detail = `${entry?.meaning ?? ""} ${entry?.remedy ?? ""}`.replaceAll("`", "");
	return problemJson(instance, fault(code, detail));
}
