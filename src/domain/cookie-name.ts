// How the cookies are called that we write ourselves. Over HTTPS the prefix makes browsers refuse one that another
// host set, or that came without Secure; over plain HTTP they would refuse the prefix itself.

export function areCookiesSecure(publicUrl: string): boolean {
	return publicUrl.startsWith("https:");
}

export function cookieName(publicUrl: string, name: string): string {
	return `${areCookiesSecure(publicUrl) ? "__Host-" : ""}ringback.${name}`;
}
