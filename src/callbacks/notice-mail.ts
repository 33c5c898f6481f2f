// The words of a notice mail. Plain text: it must be readable in any client, on any phone.

import { type Network, quote, withSender } from "../domain/mail-text.ts";
import { utcMinute } from "../domain/time.ts";
import type { Mail } from "../ports.ts";
import type { Notice } from "../store/notices.ts";
import type { Programme } from "../store/programmes.ts";
import { explainFailure } from "./failure-cause.ts";

export function composeNoticeMail(
	programme: Programme,
	notices: readonly Notice[],
	network: Network,
): Omit<Mail, "to"> {
	const newFailures = notices.reduce((sum, notice) => sum + notice.failures - notice.mailed_failures, 0);
	const worksAgain = notices.at(-1)?.kind === "callbacks_working_again";
	const lines = notices.map(describeNotice);
	const name = quote(programme.name);
	const text = [
		`Programme: ${name} (${programme.public_id})`,
		"",
		...lines,
		"",
		"Where to look:",
		network.publicUrl,
	];
	return {
		subject: worksAgain ? `Callbacks work again: ${name}` : `${countCallbacks(newFailures)} failed: ${name}`,
		text: withSender(text.join("\n"), network),
	};
}

function describeNotice(notice: Notice): string {
	if (notice.kind === "callbacks_working_again") {
		return `Since ${utcMinute(notice.opened_at_ms)} your shop answers callbacks again.`;
	}
	const fresh = notice.failures - notice.mailed_failures;
	const earlier =
		notice.mailed_failures === 0 ? "" : ` (${notice.failures} since ${utcMinute(notice.opened_at_ms)})`;
	return `${countCallbacks(fresh)} to your shop finally failed${earlier}. The last one, at ${utcMinute(notice.updated_at_ms)}: ${describeCause(notice)}`;
}

function describeCause({ last_verdict, last_http_status }: Notice): string {
	const { cause, advice } = explainFailure(last_verdict, last_http_status);
	return advice === "" ? cause : `${cause} ${advice}`;
}

function countCallbacks(count: number): string {
	return count === 1 ? "1 callback" : `${count} callbacks`;
}
