// The word that a network puts into its header names: `X-<Brand>-Signature`.

/** As the service itself takes it: any other could never be in a request. */
export const brandForm = /^[A-Za-z][A-Za-z0-9-]{0,30}$/;

export const brandSentence =
	"brand must be letters, digits or hyphens, 31 at most, and start with a letter, such as Acme.";
