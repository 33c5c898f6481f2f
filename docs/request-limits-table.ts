// Writes the tables of docs/operations/limits.md from the rates and the classes of requests in the code.

import { BLOCK_REFUSALS, PROGRAMME_REFUSALS, STRANGERS_REFUSALS } from "#core/api/inbound-log.ts";
import { TOKEN_RATE } from "#modules/token-api/api/token-call.ts";
import { type AdmissionClass, CLASSES, PIXEL_RATES } from "../src/concurrency/admission.ts";
import type { Rate } from "../src/concurrency/rate-limit.ts";
import { table } from "./markdown-text.ts";

const RATES: readonly (readonly [what: string, rate: Rate])[] = [
	["pixel calls from one network (IPv4 /24, IPv6 /48)", PIXEL_RATES.addressBlock],
	["pixel calls from all private addresses together", PIXEL_RATES.privateAddresses],
	["pixel calls for one programme", PIXEL_RATES.programme],
	["pixel calls to one process", PIXEL_RATES.process],
	["calls with one API token of the network, or with those of one partner", TOKEN_RATE],
	["logged refusals from one network", BLOCK_REFUSALS],
	["logged refusals for one programme", PROGRAMME_REFUSALS],
	["logged refusals without a programme", STRANGERS_REFUSALS],
];

const QUEUES: readonly (readonly [what: string, className: AdmissionClass])[] = [
	["pages, and signed requests that only read", "pages"],
	["calls with an API token", "tokenCalls"],
	["sign-ins and other forms of strangers", "passwordForms"],
	["forms that ask name servers, the mail server or the identity provider", "outsideRequests"],
	["exports", "exports"],
	["uploads of decisions", "decisionUploads"],
	["uploads to import", "importUploads"],
];

export function ratesTable(): string {
	return table(
		["what", "at once", "then, each second"],
		RATES.map(([what, { burst, perSecond }]) => [what, sayNumber(burst), sayNumber(perSecond)]),
	);
}

export function queuesTable(): string {
	return table(
		["what", "served at once", "of one client", "waiting", "of one client"],
		QUEUES.map(([what, className]) => {
			const { atOnce, atOncePerClient, waiting, waitingPerClient } = CLASSES[className];
			return [what, ...[atOnce, atOncePerClient, waiting, waitingPerClient].map(sayNumber)];
		}),
	);
}

function sayNumber(count: number): string {
	return count.toLocaleString("en-GB");
}
