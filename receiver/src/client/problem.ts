// Reads the service's refusals (RFC 9457), of a whole call or of one item.

import { isObject } from "../json.ts";
import type { Refused } from "./failure.ts";

export type Problem = Pick<Refused, "code" | "detail" | "field">;

/**
 * Maximum length of a message from another program, so that it cannot fill the shop's log. Messages of the
 * service have fewer than 300 characters.
 */
const maxForeignLength = 500;

/**
 * Reads a problem answer. Returns undefined if the JSON is not one. `secrets` are removed from the text,
 * because a server may echo parts of the request.
 */
export function readProblem(json: unknown, secrets: readonly string[]): Problem | undefined {
	if (!isObject(json)) return undefined;
	const { code, detail, field } = json;
	if (typeof code !== "string" || !/^[a-z0-9_]{1,64}$/.test(code) || typeof detail !== "string") {
		return undefined;
	}
	return {
		code,
		detail: hideSecrets(detail, secrets),
		...(typeof field === "string" ? { field: hideSecrets(field, secrets) } : {}),
	};
}

export function hideSecrets(text: string, secrets: readonly string[]): string {
	const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[hidden]"), text);
	return hidden.length > maxForeignLength ? `${hidden.slice(0, maxForeignLength)}…` : hidden;
}
