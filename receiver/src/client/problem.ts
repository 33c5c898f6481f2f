// What the service says no with (RFC 9457), of a whole call or of one item among many.

import { isObject } from "../json.ts";
import type { Refused } from "./failure.ts";

export type Problem = Pick<Refused, "code" | "detail" | "field">;

/** The service's own sentences are under 300 characters; another's need not fill the shop's log. */
const maxForeignLength = 500;

/** Undefined when it is none. `secrets`: whatever answers may echo what it was sent, and these words go no further. */
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
