// A name and order IDs that are hard to show, because they are long, cannot be broken, or contain markup.

/** A name of maximum length, with markup and one long word. */
export const NAME =
	"<script>alert(1)</script> & Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamten-GmbH".slice(
		0,
		100,
	);
export const LONG_ORDER = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";
export const MARKUP_ORDER = '"><img src=x onerror=alert(1)>';
