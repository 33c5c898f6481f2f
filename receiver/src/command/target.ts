// The endpoint that events are forwarded to. Any host: it is the developer's own machine.

import { parseUrl } from "../origin.ts";

export type ParsedTarget =
	| { readonly ok: true; readonly url: URL }
	| { readonly ok: false; readonly problem: string };

const example = "such as http://localhost:3000/postback";

export function parseTarget(text: string): ParsedTarget {
	// `localhost:3000` without http:// is none, or has "localhost:" for its protocol.
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
	// Signed as it goes on the wire: # cannot, and white space and umlauts were percent-encoded just now.
	return { ok: true, url };
}
