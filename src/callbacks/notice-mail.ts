// The words of a notice mail. Plain text: it must be readable in any client, on any phone.

import type { Mail } from "../ports.ts";
import type { Notice } from "../store/notices.ts";
import type { Programme } from "../store/programmes.ts";
import { explainFailure } from "./failure-cause.ts";

export function composeNoticeMail(
	programme: Programme,
	notices: readonly Notice[],
	publicUrl: string,
): Omit<Mail, "to"> {
	const newFailures = notices.reduce((sum, notice) => sum + notice.failures - notice.mailed_failures, 0);
	const worksAgain = notices.at(-1)?.kind === "callbacks_working_again";
	const lines = notices.map(describeNotice);
	// The name came from a form: line breaks in a subject would be header injection.
	const name = programme.name.replace(/[\r\n]+/g, " ");
	return {
		subject: worksAgain ? `Callbacks work again: ${name}` : `${countCallbacks(newFailures)} failed: ${name}`,
		text: [`Programme: ${name} (${programme.public_id})`, "", ...lines, "", "Where to look:", publicUrl].join(
			"\n",
		),
	};
}

function describeNotice(notice: Notice): string {
	if (notice.kind === "callbacks_working_again") {
		return `Since ${utc(notice.opened_at_ms)} your shop answers callbacks again.`;
	}
	const fresh = notice.failures - notice.mailed_failures;
	const earlier =
		notice.mailed_failures === 0 ? "" : ` (${notice.failures} since ${utc(notice.opened_at_ms)})`;
	return `${countCallbacks(fresh)} to your shop finally failed${earlier}. The last one, at ${utc(notice.updated_at_ms)}: ${describeCause(notice)}`;
}

function describeCause({ last_verdict, last_http_status }: Notice): string {
	const { cause, advice } = explainFailure(last_verdict, last_http_status);
	return advice === "" ? cause : `${cause} ${advice}`;
}

function countCallbacks(count: number): string {
	return count === 1 ? "1 callback" : `${count} callbacks`;
}

function utc(ms: number): string {
	return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
