// What a mail server, or the way to it, said when it refused something. It may say anything, and it ends up on pages, in
// the log and in the database, which takes no NUL.

const MAX_LENGTH = 400;

/** On one line: servers explain in the second line what they mean by the first. */
export function sayMailReply(reply: string): string {
	const line = reply
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
		.trim();
	return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH).toWellFormed()}…`;
}

export function sayMailError(error: unknown): string {
	return sayMailReply(messageOf(error));
}

function messageOf(error: unknown): string {
	// When several addresses failed, the messages are in `errors`.
	if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
	return error instanceof Error ? error.message : String(error);
}
