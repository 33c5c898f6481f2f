// What may stand where an e-mail address does. Whether it exists is known when mail arrives.

/** RFC 5321: a path may be 256 characters, two of them angle brackets. */
const MAX_LENGTH = 254;

/**
 * Beyond what mail servers refuse: characters that are drawn as nothing or turn the text around, and slashes, with which
 * an address could pass for another or for a link. Nothing in it can end a line or a header.
 */
export function isMailAddress(text: string): boolean {
	return (
		text.length <= MAX_LENGTH &&
		/^[^\s@<>"',;:\\/]+@[^\s@<>"',;:\\/]+\.[^\s@<>"',;:\\/.]+$/.test(text) &&
		!/[\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(text)
	);
}
