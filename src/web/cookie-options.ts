// What every cookie of the pages has in common: scripts cannot read it, and it is kept for this host alone.

import { areCookiesSecure } from "../domain/cookie-name.ts";

export function cookieOptions(publicUrl: string, sameSite: "Lax" | "Strict" = "Lax") {
	return { path: "/", httpOnly: true, sameSite, secure: areCookiesSecure(publicUrl) } as const;
}
