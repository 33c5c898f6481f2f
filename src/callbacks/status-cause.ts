// What an HTTP status that is not 2xx means, and what the shop does about it.

import { isSuccess } from "../domain/verdict.ts";

export interface AttemptCause {
	/** Short enough for a badge or a cell. */
	title: string;
	/** What happened, as a sentence; empty for a success. */
	meaning: string;
	/** What to do about it, as sentences; empty where nothing is to be done. */
	advice: string;
}

export function explainStatus(status: number): AttemptCause {
	const title = `HTTP ${status}`;
	if (isSuccess(status)) return { title, meaning: "", advice: "" };
	const [meaning, advice] = STATUSES.get(status) ?? explainOtherStatus(status);
	return { title, meaning, advice };
}

type MeaningAndAdvice = readonly [meaning: string, advice: string];

const STATUSES: ReadonlyMap<number, MeaningAndAdvice> = new Map<number, MeaningAndAdvice>([
	[
		401,
		[
			"Your server did not accept the signature or the timestamp.",
			"Paste what your server received (path, headers and raw body, from its own log) into “Check a signature”: it shows what differs from what we sent.",
		],
	],
	[
		403,
		[
			"Your server refused access. Mostly that is a firewall or bot protection in front of it.",
			"Let POST requests to this path through.",
		],
	],
	[
		404,
		[
			"Nothing answers at this path.",
			"Check the Postback URL letter by letter, and that the route is deployed.",
		],
	],
	[405, ["The path does not take POST requests.", "Check the Postback URL and the route behind it."]],
	[
		408,
		["Your server gave up waiting for the request.", "Check the proxy in front of it and its time limits."],
	],
	[
		413,
		[
			"Your server finds the body too large.",
			"It has less than 2 KB: raise the limit of the server or proxy.",
		],
	],
	[415, ["Your server does not take application/json at this path.", "Let the route accept JSON."]],
	[429, ["Your server asks for fewer requests.", "Exempt our callbacks from its rate limit, or raise it."]],
	[
		502,
		[
			"The proxy in front of your application got no valid answer from it.",
			"Check that the application runs, and its log at this time.",
		],
	],
	[
		503,
		[
			"Your server says that it is not available.",
			"Check whether it was restarting, overloaded or in maintenance at this time.",
		],
	],
	[
		504,
		[
			"The proxy in front of your application waited for it in vain.",
			"Answer first (204 is fine) and do slow work afterwards.",
		],
	],
]);

function explainOtherStatus(status: number): MeaningAndAdvice {
	if (status >= 300 && status <= 399) {
		return [
			"Your server answered with a redirect. Redirects are not followed.",
			"Enter the final URL as Postback URL. If it is a sign-in page, let the path be called without signing in.",
		];
	}
	if (status >= 400 && status <= 499) {
		return ["Your server rejected the request.", "Return 5xx, not 4xx, for temporary problems on your side."];
	}
	return ["Your server had an error.", "Check your server's log at this time."];
}
