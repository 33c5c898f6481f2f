// Parses the address of the endpoint to which events are forwarded. Any host is allowed, because the command
// runs on the developer's own machine.

import { parseUrl } from "../origin.ts";

export type ParsedTarget =
	| { readonly ok: true; readonly url: URL }
	| { readonly ok: false; readonly problem: string };

const example = "such as http://localhost:3000/postback";

export function parseTarget(text: string): ParsedTarget {
	// `localhost:3000` without http:// is either not a URL, or a URL with the protocol "localhost:".
	const url = parseUrl(text);
	if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === "") {
		return { ok: false, problem: `--to must be an http or https address ${example}.` };
	}
	if (url.username !== "" || url.password !== "") {
		return {
			ok: false,
			problem: "--to must not hold a user name or a password: a Postback URL may not, either.",
		};
	}
	if (url.hash !== "") return { ok: false, problem: "--to must not have a fragment (#…): it is never sent." };
	// The signature covers the path as it is sent. White space and umlauts are percent-encoded in it, and #
	// does not occur.
	return { ok: true, url };
}
