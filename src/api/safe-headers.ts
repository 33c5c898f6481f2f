// On every answer that has none of its own, also on JSON and the pixel: a browser that is led to one must not make more
// of it. Pages have their own: web/access.ts.

export const SAFE_HEADERS = {
	"content-security-policy":
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
};

/** For answers that were made without them. What is answered thousands of times a second brings them along instead. */
export function addSafeHeaders({ headers }: Response): void {
	for (const [name, value] of Object.entries(SAFE_HEADERS)) {
		if (!headers.has(name)) headers.set(name, value);
	}
}
