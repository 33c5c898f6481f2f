// What a mail server said when it refused something. It may say anything, and it ends up on pages, in the log and in the
// database, which takes no NUL.

const MAX_LENGTH = 200;

/** Its first line, on one line of a page. */
export function sayMailReply(reply: string): string {
	const [line = ""] = reply.split("\n");
	return line
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
		.trim()
		.slice(0, MAX_LENGTH)
		.toWellFormed();
}
