<?php
// Keeps the click ID of a partner's link. To try it: php -S 127.0.0.1:3000 click.php
// In production: the same two steps in your shop's own code, before it prints anything.
declare(strict_types=1);

const CLICK_ID = '/^[\w.-]{1,400}$/D';

// On every page: keep the click ID, if the visitor comes by a partner's link.
$clicked = $_GET['rbclick'] ?? '';
$isClick = is_string($clicked) && preg_match(CLICK_ID, $clicked);
if ($isClick) {
    setcookie('rbclick', $clicked, [
        'expires' => time() + 2592000, 'path' => '/',
        'httponly' => true, 'secure' => true, 'samesite' => 'Lax',
    ]);
}

// At the checkout: send it with the signed sale, as 'clickId' beside 'orderId' and 'basketValue'.
$kept = $isClick ? $clicked : $_COOKIE['rbclick'] ?? '';
$clickId = is_string($kept) && preg_match(CLICK_ID, $kept) ? $kept : null;
header('Content-Type: text/plain');
echo 'clickId: ', $clickId ?? 'none', "\n";
