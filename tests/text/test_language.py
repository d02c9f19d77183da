import time

import pytest

from sumpool.text.language import (
    UNDETECTED,
    content_prefixes,
    detect_language,
    language_mismatch,
    separator,
    split_words,
    word_count,
)

# ruff: noqa: RUF001  (letters of other scripts)


TEXTS = {
    "en": "The manual describes how the host sends a packet to the gateway, and what it does if no answer is received.",
    "de": "Das Handbuch beschreibt, wie der Rechner ein Paket an das Gateway sendet und was er tut, wenn keine Antwort "
    "von dort kommt oder die Zeit zu lang wird.",
    "fr": "Le manuel décrit comment la machine envoie un paquet à la passerelle, et ce qui se passe si aucune réponse "
    "n'est reçue dans le temps qui est prévu pour cela.",
    "es": "El manual describe cómo la máquina envía un paquete a la pasarela y lo que hace cuando no se recibe ninguna "
    "respuesta en el tiempo que está previsto para ello.",
    "ru": "В руководстве описано, как узел посылает пакет на шлюз и что он делает, если ответ не получен в течение "
    "того времени, которое для этого было отведено.",
    "uk": "У посібнику описано, як вузол надсилає пакет на шлюз і що він робить, якщо відповідь не отримана протягом "
    "того часу, який для цього був відведений, або коли її немає.",
    "zh": "本手册描述主机如何向网关发送数据包，以及在没有收到应答时应当如何处理。",
    "ja": "このマニュアルでは、ホストがゲートウェイにパケットを送信する方法について説明します。",
    "ko": "이 설명서는 호스트가 게이트웨이에 패킷을 보내는 방법을 설명합니다. 응답이 없으면 다시 보냅니다.",
    "el": "Το εγχειρίδιο περιγράφει πώς ο υπολογιστής στέλνει ένα πακέτο στην πύλη.",
}


def test_languages_are_detected() -> None:
    assert {code: detect_language(text) for code, text in TEXTS.items()} == {code: code for code in TEXTS}
    short = "Этот раздел описывает части интерфейса, которые не имеют отношения к пакетам."
    assert detect_language(short) == "ru"
    assert detect_language(f"{'word ' * 5000}{TEXTS['de'] * 600}") == "de"  # sampled beyond its beginning
    assert detect_language(f"{TEXTS['en'] * 4} {TEXTS['ru'][:30]}") == "en"
    words = TEXTS["en"].split()
    assert [detect_language(" ".join(words[:count])) for count in (20, 19)] == ["en", UNDETECTED]


def test_what_is_no_prose_has_no_language() -> None:
    for text in [
        "",
        "The host sends it.",
        "Host gateway packet router " * 20,
        "1 2 3 4 5 " * 50,
        "x = f(y); z += 1\n" * 30,
        "imtest [-t file] [-p port] [-m name] [-a id] [-u id] [-k num] [-o option=value] [-s] [-z] [-v] hostname",
    ]:
        assert detect_language(text) == UNDETECTED


def test_words_are_counted_by_characters_where_no_spaces_divide_them() -> None:
    for text, words in [("Hosts send packets.", 3), ("主机发送", 2), ("主机发 apt", 3), ("", 0)]:
        assert word_count(text) == words
    for text in ("ក្រុមប្រឹក្សាក្រុងបានសម្រេច", "གྲོང་ཁྱེར་གྱི་ལྷན་ཚོགས", "สภาเมืองได้ตัดสินใจสร้าง", "ສະພາເມືອງໄດ້ຕັດສິນໃຈ"):
        assert 4 <= word_count(text) <= 6


def test_what_the_model_has_not_learnt_is_said() -> None:
    for text, learnt, cause in [
        (TEXTS["en"], "en", ""),
        (TEXTS["ru"], "en", "this text is in Russian, the model has learnt English"),
        (TEXTS["en"], "de", "this text is in English, the model has learnt German"),
        (TEXTS["ru"], "", ""),
        ("Hosts.", "en", ""),
        ("Host gateway packet router " * 20, "en", ""),
    ]:
        assert language_mismatch(detect_language(text), learnt) == cause


def test_words_are_lower_case_and_pairs_of_characters_without_spaces() -> None:
    assert [separator(code) for code in ("en", "ko", "zh", UNDETECTED)] == [" ", " ", "", " "]
    for text, code, words in [
        ("Hosts' 2 packets_sent", "", ["hosts", "2", "packets", "sent"]),
        ("The RFC-Editor's Übung, 2x!", "", ["the", "rfc", "editor", "s", "übung", "2x"]),
        ("主机发送packets", "zh", ["主机", "机发", "发送", "送p", "pa", "ac", "ck", "ke", "et", "ts"]),
        ("packets", "zh", ["packets"]),
        ("ที่นี่", "th", ["ที", "ี่", "่น", "นี", "ี่"]),
        ("မြို့", "my", ["မြ", "ြိ", "ို", "ု့"]),
    ]:
        assert split_words(text, code) == words


def test_words_with_the_same_first_letters_are_the_same() -> None:
    assert content_prefixes(["the", "gateways", "gateway", "a", "x"]) == ["gatewa", "gatewa"]
    assert content_prefixes(["the"], "xx") == ["the"]


@pytest.mark.parametrize("word", ["नमस्ते", "தமிழ்", "മലയാളം", "می\u200cروم", "क्\u200dष", "e\u0301te\u0301", "שָׁלוֹם"])
def test_marks_and_joiners_belong_to_their_word(word: str) -> None:
    assert split_words(f"{word}_{word}, ({word})") == [word] * 3
    assert split_words(f"{word[-1]} \u200c") in ([], [word[-1]])


@pytest.mark.parametrize("length", [40_000, 400_000])
def test_time_is_linear(length: int) -> None:
    for part in ("a\u0301", "\u093e", "_", "a_", "क्\u200dष", "\u200c "):
        start = time.process_time()
        split_words(part * (length // len(part)))
        assert time.process_time() - start < max(0.5, 4e-6 * length), part
