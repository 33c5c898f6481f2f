// A name and order ids that are hard to show: long, without a place to break, or markup.

/** As long as a name may be, in one word that nothing can break, and markup. */
export const NAME =
	"<script>alert(1)</script> & Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamten-GmbH".slice(
		0,
		100,
	);
export const LONG_ORDER = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";
export const MARKUP_ORDER = '"><img src=x onerror=alert(1)>';
