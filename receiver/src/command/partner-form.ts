// The form in which a partner's event is forwarded. It is a GET if the address of --to has macros, or if the callback URL
// that the partner saved is one for GET. Otherwise it is a POST with a JSON body.

import type { CallbackFields } from "../sign-callback.ts";

/** Names of the macros, which are the fields of the JSON body. */
const macros: readonly string[] = [
	"event",
	"conversionId",
	"programId",
	"partnerId",
	"linkId",
	"status",
	"eventType",
	"basketValue",
	"commission",
	"currency",
	"reason",
	"creditedBy",
	"sub1",
	"sub2",
	"sub3",
	"test",
	"clickedAt",
	"occurredAt",
	"sentAt",
];
const macroForm = /\{(\w+)\}/g;

/** Returns a sentence if the address has a macro outside of its query, or an unknown one. */
export function findMacroProblem({ pathname, search }: URL): string | undefined {
	if (/\{|%7B/i.test(pathname)) return "--to may have macros only in its query, after the question mark.";
	const unknown = [...search.matchAll(macroForm)].find(([, name = ""]) => !macros.includes(name));
	if (unknown === undefined) return undefined;
	return `--to has the macro ${unknown[0]}, which does not exist. These do: ${macros.map((name) => `{${name}}`).join(", ")}.`;
}

/** Returns the path and query of the GET that forwards an event, or undefined if it is forwarded as a POST. */
export function findGetPath(
	{ pathname, search }: URL,
	fields: CallbackFields,
	/** The signed callback that came with the event, or null if the service did not sign it. */
	signed: { readonly method: string; readonly path: string } | null,
): string | undefined {
	if (search.search(macroForm) >= 0) return pathname + fillMacros(search, fields);
	if (signed?.method !== "GET") return undefined;
	const [, ...query] = signed.path.split("?");
	const added = query.join("?");
	if (added === "") return pathname + search;
	return `${pathname}${search === "" ? "?" : `${search}&`}${added}`;
}

function fillMacros(text: string, fields: CallbackFields): string {
	const values: CallbackFields = { ...fields, sentAt: new Date().toISOString() };
	return text.replace(macroForm, (_, name: string) => encodeValue(values[name] ?? ""));
}

/** Encodes everything except unreserved characters, as the service does. */
function encodeValue(value: unknown): string {
	return encodeURIComponent(String(value)).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
	);
}
